// SPDX-License-Identifier: MIT OR Apache-2.0
// Draws the charts of a report from the values in the page. No request is made; nothing is stored.
(() => {
'use strict';
const DATA = JSON.parse(document.getElementById('data').textContent);
const NS = 'http://www.w3.org/2000/svg';
const DASH = ['', '6 3', '2 3', '8 3 2 3'];
const MARK = {valid: '', virtual: 'VIRTUAL TIME', invalid: 'INVALID', imported: 'not checked', published: ''};
const VIEWS = {histogram: ['Histogram', 'Samples in the bin', 'log', 'log'], head: ['Head', 'Share of the samples per µs', 'lin', 'lin'],
  tail: ['Tail', 'Samples in the bin', 'log', 'log'], cdf: ['CDF', 'Share at or below', 'log', 'lin'],
  ccdf: ['CCDF', 'Share above', 'log', 'log'], pdf: ['PDF', 'Share of the samples per µs', 'log', 'log']};
const MANY = 24;
const UNIT = / in ((?:virtual )?\S+)$/;
// Every check of it passed.
const sound = s => s.v === 'valid' || s.v === 'virtual';

const el = (name, attributes, ...inside) => {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) key === 'onclick' ? node.addEventListener('click', value) : node.setAttribute(key, value);
  node.append(...inside);
  return node;
};
const shape = (parent, name, attributes, text) => {
  const node = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== '' && value !== null) node.setAttribute(key, value);
  if (text !== undefined) node.textContent = text;
  parent.appendChild(node);
  return node;
};
// Figures as the file writes them: a point, and no more digits than are of use.
const figure = (v, step) => {
  if (v === 0) return '0';
  const size = Math.abs(v);
  const order = n => Math.floor(Math.log10(Math.abs(n)) + 1e-9), digits = n => Math.min(15, Math.max(0, n));
  if (size < 1e-4 || size >= 1e6) return v.toExponential(digits(order(v) - order(step))).replace(/(\.\d*?)0+e/, '$1e').replace('.e', 'e').replace('e+', 'e');
  const decimals = digits(-order(step));
  const text = v.toFixed(decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
};
const read = v => v === 0 ? '0' : Math.abs(v) < 1e-4 || Math.abs(v) >= 1e7 ? v.toExponential(3) : String(Number(v.toPrecision(Math.abs(v) >= 1000 ? 7 : 4)));
const grouped = n => n < 10000 ? String(n) : String(n).replace(/\B(?=(\d{3})+$)/g, '\u202f');

const ticks = (low, high, log, most) => {
  const out = [];
  if (!(high > low)) return out;
  if (!log) {
    const rough = (high - low) / Math.max(2, most), size = 10 ** Math.floor(Math.log10(rough));
    const steps = [0.2, 0.5, 1, 2, 5, 10].map(n => n * size), fitting = steps.findIndex(s => s >= rough * 0.999);
    // One text alone says nothing of how far apart places are.
    const step = steps.slice(0, fitting < 0 ? steps.length : fitting + 1).reverse().find(s => Math.floor(high / s) > Math.ceil(low / s)) || size;
    for (let n = Math.ceil(low / step - 1e-9); n * step <= high * (1 + 1e-12) && out.length < 100; n++) out.push([n * step, figure(n * step, step)]);
    return out;
  }
  const decades = Math.log10(high / low), room = most / decades, every = Math.max(1, Math.ceil(decades / most));
  if (decades < 0.35) return ticks(low, high, false, most);
  const texts = set => { let n = 0; for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high); e++) for (const m of set) if (m * 10 ** e >= low && m * 10 ** e <= high) n++; return n; };
  // Two texts at least, so that one can tell how far apart they are.
  const sparse = texts([1]) < 2 ? [[1, 3], [1, 2, 5]].find(set => texts(set) > 1 && texts(set) <= most + 2) : null;
  const written = room >= 9 ? [1, 2, 3, 4, 5, 6, 7, 8, 9] : room >= 3 ? [1, 2, 5] : sparse || [1];
  for (let e = Math.floor(Math.log10(low)); e <= Math.log10(high) && out.length < 400; e++)
    for (let n = 1; n < 10; n++) {
      const at = n * 10 ** e;
      if (at >= low && at <= high) out.push([at, written.includes(n) && e % every === 0 ? figure(at, at) : '']);
    }
  return out.filter(([, text]) => text).length < 2 ? ticks(low, high, false, most) : out;
};
const fit = (values, log) => {
  let low = Infinity, high = -Infinity;
  for (const v of values) if (Number.isFinite(v) && (!log || v > 0)) { if (v < low) low = v; if (v > high) high = v; }
  if (low > high) return log ? [1, 10] : [0, 1];
  if (log) return [low / 1.15, high * 1.25];
  // Values that differ by rounding alone are one.
  const one = high - low <= 1e-9 * Math.abs(high);
  if (one) high = low;
  if (low > 0 && (low < 0.7 * high || one)) low = 0;
  const gap = (high - low) * 0.06 || Math.max(Math.abs(high), 1) * 0.1;
  return [low === 0 ? 0 : low - gap, high + gap];
};

// The steps of a distribution, in µs; as the crate's own `points`.
const steps = (s, view, split) => {
  const out = [];
  // A logarithmic axis has no 0: samples of 0 ns count from the first above it on.
  const skip = s.bins.length > 1 && s.bins[0][1] <= 1 && view !== 'head', bins = skip ? s.bins.slice(1) : s.bins, zeros = skip ? s.bins[0][2] : 0;
  // What goes down to 0 is drawn over a factor of 10.
  const drawn = (from, to) => view === 'head' ? from : Math.max(from, Math.floor(to / 10));
  let below = zeros, end = null;
  if (view === 'ccdf' && bins.length) out.push([Math.max(1, drawn(...bins[0])) / 1e3, (s.n - zeros) / s.n]);
  if (view === 'cdf' && zeros) out.push([drawn(...bins[0]) / 1e3, zeros / s.n]);
  for (const [from, to, count] of bins) {
    if (view === 'cdf') { below += count; out.push([to / 1e3, below / s.n]); }
    else if (view === 'ccdf') {
      below += count;
      out.push(s.n - below > 0 ? [to / 1e3, (s.n - below) / s.n] : [Math.max(s.max ?? to, from) / 1e3, 0]);
    } else {
      if (view === 'head' && from >= split || view === 'tail' && to <= split) continue;
      if (end !== null && end < from) out.push([end / 1e3, 0]);
      out.push([drawn(from, to) / 1e3, view === 'histogram' || view === 'tail' ? count : count / s.n / ((to - from) / 1e3)]);
      end = to;
    }
  }
  if (end !== null && view !== 'cdf' && view !== 'ccdf') out.push([end / 1e3, 0]);
  return out;
};
// Where 99 % of the samples lie below: the head ends there.
const headEnd = s => {
  let below = 0;
  const bin = s.bins.find(([, , count]) => (below += count) * 100 >= s.n * 99);
  return bin ? bin[1] : 0;
};
const unpack = flat => {
  const bins = [];
  for (let i = 0, at = 0; i < flat.length; i += 3) { const from = at + flat[i], to = from + flat[i + 1]; bins.push([from, to, flat[i + 2]]); at = to; }
  return bins;
};

const cell = value => {
  // What commands a terminal is replaced; a spreadsheet would take a text that begins so for a formula, unless all of it
  // is a number with its unit.
  const text = String(value ?? '').replace(/[\0-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g, '\ufffd');
  const safe = /^[=+\-@\uff1d\uff0b\uff0d\uff20]/.test(text) && !/^[+-]?(\d[\d.]*(e[+-]?\d+)?( ?[%\wµ]+)?)?$/i.test(text) ? "'" + text : text;
  return /[",]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
};
const download = (name, rows) => {
  const url = URL.createObjectURL(new Blob([rows.map(r => r.map(cell).join(',')).join('\n') + '\n'], {type: 'text/csv'}));
  const link = el('a', {href: url, download: name});
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
};

class Plot {
  constructor(figureNode, data) {
    this.node = figureNode; this.data = data; this.title = figureNode.querySelector('h3').textContent;
    this.plot = figureNode.querySelector('.plot'); this.tools = figureNode.querySelector('.tools'); this.keybox = figureNode.querySelector('.keylist');
    this.dist = data.k === 'dist';
    this.all = data.s.map(s => this.dist ? {...s, bins: unpack(s.b), name: s.p ? s.r + ', ' + s.p : s.r, counted: grouped(s.n) + (s.n === 1 ? ' sample' : ' samples'), shape: 'step'}
      : {...s, name: s.n, counted: s.c, shape: s.sh, r: s.sh === 'bars' ? '' : s.r ?? s.n, w: 1});
    this.runs = [...new Set(this.all.map(s => s.r))];
    this.all.forEach((s, i) => {
      const [colour, dash] = s.lk || [i % 6, Math.floor(i / 6) % 4];
      s.colour = colour;
      s.dash = sound(s) ? DASH[dash] : '1.5 2.5';
      s.hollow = s.shape === 'bars' && dash > 0;
    });
    this.on = this.all.map(s => s.on === 1);
    this.bars = this.all.some(s => s.shape === 'bars');
    this.view = this.dist ? 'histogram' : null; this.mode = 'whole'; this.zoom = null; this.cursor = null;
    this.reset();
    this.controls();
    this.legend();
    this.listen();
    this.draw();
  }
  reset() {
    this.zoom = null;
    const axis = this.dist ? [VIEWS[this.view][2], VIEWS[this.view][3]] : [this.data.x.s, this.data.y.s];
    [this.sx, this.sy] = axis;
  }
  label(which) {
    if (this.dist) return which === 'x' ? this.data.q + ' in ' + this.data.u : VIEWS[this.view][1].replace('µs', this.data.u);
    return this.data[which].l;
  }
  points(s) {
    if (!this.dist) return s.p;
    if (s.cache?.view !== this.view || s.cache.split !== this.split) s.cache = {view: this.view, split: this.split, points: steps(s, this.view, this.split)};
    return s.cache.points;
  }
  controls() {
    const t = this.tools, button = (text, act, attributes) => { const b = el('button', {type: 'button', ...attributes, onclick: act}, text); t.append(b); return b; };
    if (this.dist) {
      this.tabs = Object.keys(VIEWS).map(view => button(VIEWS[view][0], () => { this.view = view; this.reset(); this.draw(); this.sync(); }, {'aria-pressed': view === this.view, 'data-view': view}));
      t.append(el('span', {class: 'gap'}));
    }
    // A bar has no place on an axis without 0.
    if (this.sx !== 'names' && !this.bars) this.logx = button('log x', () => { this.sx = this.sx === 'log' ? 'lin' : 'log'; this.zoom = null; this.draw(); this.sync(); }, {'aria-pressed': 'false'});
    if (this.sy !== 'names') this.logy = button('log y', () => { this.sy = this.sy === 'log' ? 'lin' : 'log'; this.draw(); this.sync(); }, {'aria-pressed': 'false'});
    button('+', () => this.scale(0.5), {'aria-label': 'Zoom in', title: 'Zoom in (+)'});
    button('−', () => this.scale(2), {'aria-label': 'Zoom out', title: 'Zoom out (-)'});
    this.whole = button('Reset', () => { this.zoom = null; this.draw(); this.sync(); }, {title: 'Show all (0)'});
    button('CSV', () => this.csv(), {title: 'Download the values of this chart', 'aria-label': 'CSV of ' + this.title});
    this.sync();
  }
  sync() {
    if (this.tabs) for (const b of this.tabs) b.setAttribute('aria-pressed', b.dataset.view === this.view);
    if (this.logx) this.logx.setAttribute('aria-pressed', this.sx === 'log');
    if (this.logy) this.logy.setAttribute('aria-pressed', this.sy === 'log');
    this.whole.disabled = !this.zoom;
  }
  // One switch for each series that may be drawn now: all threads together, or each; a switch a run where there are many.
  keys() {
    const alone = this.runs.length > 1 && this.runs.every(r => this.all.filter(s => s.r === r && s.w).length < 2);
    const many = this.dist && alone && this.all.filter((_, i) => this.eligible(i)).length > MANY;
    const name = s => this.dist && s.w && alone ? s.r : s.name;
    const entries = many ? this.runs.map(r => [r, this.all.flatMap((s, i) => s.r === r ? [i] : [])])
      : this.all.flatMap((s, i) => this.eligible(i) ? [[name(s), [i]]] : []);
    this.keybox.replaceChildren();
    this.switches = entries.map(([name, of]) => {
      const first = this.all[of[0]];
      const key = document.createElementNS(NS, 'svg');
      key.setAttribute('viewBox', '0 0 24 8'); key.setAttribute('aria-hidden', 'true');
      if (first.shape === 'bars') shape(key, 'rect', {class: 'bar ' + (first.hollow ? 'open ' : '') + 'c' + first.colour + (sound(first) ? '' : ' pale'), x: 1, width: 22, height: 8, 'stroke-dasharray': first.hollow ? first.dash : ''});
      else if (first.shape !== 'points') shape(key, 'path', {d: 'M0 4H24', class: 'c' + first.colour, 'stroke-width': 2.6, 'stroke-dasharray': first.dash});
      if (first.shape === 'points' || first.shape === 'dots') shape(key, 'circle', {class: 'c' + first.colour + (sound(first) ? '' : ' open'), cx: 12, cy: 4, r: 3.4});
      const b = el('button', {type: 'button', onclick: () => {
        const on = !of.some(i => this.on[i]);
        for (const i of of) this.on[i] = on && this.eligible(i);
        this.draw(); this.press();
      }}, key, name + ' ');
      if (MARK[first.v]) b.append(el('em', {}, MARK[first.v]), ' ');
      b.append(el('span', {class: 'n'}, many ? grouped(of.filter(i => this.all[i].w === 1).reduce((n, i) => n + this.all[i].n, 0)) + ' samples' : first.counted));
      const light = state => () => { for (const i of of) this.drawn[i]?.classList.toggle('hi', state); };
      b.addEventListener('pointerenter', light(true)); b.addEventListener('pointerleave', light(false));
      b.addEventListener('focus', light(true)); b.addEventListener('blur', light(false));
      this.keybox.append(b);
      return [b, of];
    });
  }
  press() {
    for (const [b, of] of this.switches) b.setAttribute('aria-pressed', of.some(i => this.on[i]));
    for (const [b, test] of this.sets) b.setAttribute('aria-pressed', test());
  }
  // Whether a series is drawn as things stand: threads are drawn each, or together. One alone is the same either way.
  eligible(i) { return !this.dist || (this.mode === 'whole' ? this.all[i].w === 1 : !this.all[i].w || !this.divided.has(i)); }
  // Switches for threads, groups and kernels.
  legend() {
    // A series of all threads stands before those of each.
    const owner = [];
    this.all.forEach((s, i) => { owner[i] = s.w ? i : owner[i - 1]; });
    this.divided = new Set(this.all.flatMap((s, i) => s.w ? [] : [owner[i]]));
    const eligible = i => this.eligible(i), press = () => this.press();
    this.keys();
    this.sets = [];
    const extra = (text, test, act) => {
      const b = el('button', {type: 'button', onclick: () => { act(); this.draw(); press(); }}, text);
      this.sets.push([b, test]); this.tools.append(b);
    };
    if (this.all.length > 1) {
      extra('All', () => this.all.every((_, i) => !eligible(i) || this.on[i]), () => { const on = !this.all.every((_, i) => !eligible(i) || this.on[i]); this.on = this.all.map((_, i) => on && eligible(i)); });
    }
    if (this.dist && this.all.some(s => !s.w)) {
      extra('Each thread', () => this.mode === 'parts', () => {
        const drawn = new Set(owner.filter((_, i) => this.on[i]));
        this.mode = this.mode === 'parts' ? 'whole' : 'parts';
        this.on = this.all.map((_, i) => drawn.has(owner[i]) && this.eligible(i));
        this.keys();
      });
    }
    const groups = [...new Set(this.all.map(s => s.g).filter(Boolean))];
    if (groups.length > 1) for (const group of groups) {
      const of = s => s.g === group, n = new Set(this.all.filter(of).map(s => s.r)).size;
      extra(`${group} (${n} ${n === 1 ? 'run' : 'runs'})`, () => this.all.some((s, i) => of(s) && this.on[i]), () => { const on = !this.all.some((s, i) => of(s) && this.on[i]); this.all.forEach((s, i) => { if (of(s)) this.on[i] = on && eligible(i); }); });
    }
    const kernels = this.dist ? [...new Set(this.all.map(s => s.kn).filter(Boolean))] : [];
    if (kernels.length > 1) for (const kernel of kernels) {
      const of = s => s.kn === kernel;
      extra(kernel, () => this.all.some((s, i) => of(s) && this.on[i]), () => { const on = !this.all.some((s, i) => of(s) && this.on[i]); this.all.forEach((s, i) => { if (of(s)) this.on[i] = on && eligible(i); }); });
    }
    press();
  }
  shown() { return this.all.map((s, i) => [s, i]).filter(([, i]) => this.on[i]); }
  draw() {
    const w = this.width = Math.max(300, this.fixed || this.plot.clientWidth), names = this.sy === 'names' ? this.data.y.names : null;
    let left = names ? Math.min(w * 0.38, 18 + 6.6 * Math.max(1, ...names.map(n => n.length))) : 58;
    const shown = this.shown();
    // As the crate's own `split_ns`.
    this.split = this.dist ? Math.max(...shown.map(([s]) => headEnd(s))) : 0;
    // Series of the same row lie a little apart; a row has room for all of them.
    const lanes = (names || []).map((_, r) => shown.filter(([s]) => s.shape !== 'bars' && this.points(s).some(p => Math.round(p[1]) === r)).map(([, i]) => i));
    const row = Math.max(28, 8 * Math.max(1, ...lanes.map(l => l.length)) + 12);
    const log = {x: this.sx === 'log', y: this.sy === 'log'};
    const marks = (this.dist ? this.data.m.map(([n, ns]) => [n, ns / 1e3, 1]) : this.data.m)
      .filter(m => this.view === 'head' ? m[1] <= this.split / 1e3 : this.view === 'tail' ? m[1] >= this.split / 1e3 : true);
    // What has to be read stands above the curves, not among them.
    const bad = ['invalid', 'imported', 'virtual'].map(v => [v, [...new Set(shown.filter(([s]) => s.v === v).map(([s]) => s.r))]]).filter(([, n]) => n.length);
    const said = bad.length, named = Math.min(6, marks.filter(m => m[2]).length), top = 10 + 15 * said + 14 * named;
    const right = w - 10, room = names ? Math.max(70, names.length * row) : w < 560 ? 250 : 330, bottom = top + room, h = bottom + 40;
    const xs = [], ys = [];
    for (const m of marks) (m[2] ? xs : ys).push(m[1]);
    for (const [s] of shown) for (const p of this.points(s)) { xs.push(p[0]); if (names && p[2] != null) xs.push(p[2], p[3]); }
    const wide = this.sx === 'names' ? [-0.5, this.data.x.names.length - 0.5] : fit(xs, log.x);
    const [x0, x1] = this.zoom || wide;
    this.full = wide;
    for (const [s] of shown) {
      const ps = this.points(s);
      ps.forEach((p, i) => {
        const next = ps[i + 1];
        if (p[0] > x1 || (s.shape === 'step' && next ? next[0] : p[0]) < x0) return;
        if (p[1] !== null) ys.push(p[1]);
        if (!names && p[2] != null) ys.push(p[2], p[3]);
      });
    }
    const [y0, y1] = names ? [-0.5, names.length - 0.5] : fit(ys, log.y);
    const yt = names ? names.map((n, i) => [i, n]) : ticks(y0, y1, log.y, room / 42);
    // The label of the axis stands beside the longest figure.
    if (!names) left = Math.max(left, 28 + 6.9 * Math.max(0, ...yt.map(([, text]) => text.length)));
    const t = (v, a, b, lg) => lg ? (v > 0 ? (Math.log(v) - Math.log(a)) / (Math.log(b) - Math.log(a)) : null) : (v - a) / (b - a);
    const X = v => { const s = t(v, x0, x1, log.x); return s === null ? null : left + (right - left) * s; };
    const Y = v => { const s = t(v, y0, y1, log.y); return s === null ? null : names ? top + room * s : bottom - room * s; };
    Object.assign(this, {X, Y, left, right, top, bottom, x0, x1, names, log, h});
    this.invert = px => { const s = (px - left) / (right - left); return log.x ? Math.exp(Math.log(x0) + s * (Math.log(x1) - Math.log(x0))) : x0 + s * (x1 - x0); };
    const svg = document.createElementNS(NS, 'svg');
    svg.setAttribute('viewBox', `0 0 ${w} ${h}`);
    svg.setAttribute('role', 'img');
    svg.setAttribute('aria-label', `${this.title}${this.view ? ', ' + VIEWS[this.view][0] : ''}: ${shown.length} of ${this.all.length} series drawn. ${this.label('x')} across${this.label('y') ? ', ' + this.label('y') + ' upwards' : ''}. The values are in the table and in the CSV.`);
    const cut = (text, most) => text.length > most ? text.slice(0, most - 1) + '…' : text;
    const xt = this.sx === 'names' ? this.data.x.names.map((n, i) => [i, n]) : ticks(x0, x1, log.x, (right - left) / 75);
    let reached = -Infinity;
    for (const [at, text] of xt) {
      // The last figure may be longer than the edge is wide; a figure that would lie over the one before it is left out.
      const px = X(at), label = cut(text, 14), half = 3.6 * label.length, middle = Math.max(half, Math.min(px, w - half));
      const fits = text && middle - half > reached + 4;
      shape(svg, 'path', {class: fits ? 'g' : 'h', d: `M${px.toFixed(1)} ${top}V${bottom}`});
      if (!fits) continue;
      reached = middle + half;
      shape(svg, 'text', {x: middle.toFixed(1), y: bottom + 16, 'text-anchor': 'middle'}, label);
    }
    for (const [at, text] of yt) {
      const py = Y(at);
      shape(svg, 'path', {class: text ? 'g' : 'h', d: `M${left} ${py.toFixed(1)}H${right}`});
      if (text) { const node = shape(svg, 'text', {x: left - 7, y: (py + 4).toFixed(1), 'text-anchor': 'end'}, cut(text, Math.floor((left - 10) / 6.6))); if (names) shape(node, 'title', {}, text); }
    }
    shape(svg, 'path', {class: 'a', d: `M${left} ${top}V${bottom}H${right}`});
    shape(svg, 'text', {x: (left + right) / 2, y: bottom + 34, 'text-anchor': 'middle'}, this.label('x'));
    if (!names) shape(svg, 'text', {transform: `translate(13 ${(top + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle'}, this.label('y'));
    const clip = 'clip-' + this.data.id, defs = shape(svg, 'clipPath', {id: clip});
    shape(defs, 'rect', {x: left, y: top - 5, width: right - left, height: room + 6});
    const area = shape(svg, 'g', {'clip-path': `url(#${clip})`});
    this.drawn = {}; this.words = [];
    const thin = shown.length > 8;
    shown.forEach(([s, i]) => {
      const g = shape(area, 'g', {class: 'c' + s.colour});
      const ps = this.points(s);
      if (s.shape === 'bars') { this.drawn[i] = this.boxes(g, s, row); return; }
      if (s.shape !== 'points') {
        let d = '', py = null;
        for (const p of ps) {
          // What begins at 0 begins at the edge of a logarithmic axis.
          const x = X(p[0]) ?? (s.shape === 'step' ? left : null), y = Y(p[1]) ?? bottom;
          if (x === null) continue;
          // Where a level ends the pen is lifted.
          if (p[1] === null) { if (py !== null) d += `H${x.toFixed(1)}`; py = null; continue; }
          d += py === null ? `M${x.toFixed(1)} ${y.toFixed(1)}` : s.shape === 'step' ? (Math.abs(y - py) < 0.05 ? `H${x.toFixed(1)}` : `H${x.toFixed(1)}V${y.toFixed(1)}`) : `L${x.toFixed(1)} ${y.toFixed(1)}`;
          py = y;
        }
        // Of many lines at one place the last is seen: half-covered pixels would mix all their colours to grey.
        this.drawn[i] = shape(g, 'path', {class: 'l', d, 'stroke-width': thin ? 1 : 1.6, 'stroke-dasharray': s.dash, 'shape-rendering': thin && s.shape === 'step' ? 'crispEdges' : ''});
      }
      // A single point has no line.
      if (s.shape === 'points' || s.shape === 'dots' || ps.length === 1) for (const p of ps) {
        const x = X(p[0]);
        let y = Y(p[1]);
        if (x === null || y === null || p[1] === null) continue;
        if (names) { const lane = lanes[Math.round(p[1])]; y += (lane.indexOf(i) - (lane.length - 1) / 2) * 7; }
        if (p[2] != null) {
          const [a, b] = names ? [X(p[2]), X(p[3])] : [Y(p[2]), Y(p[3])];
          // An end that has no place is beyond the floor: it is open.
          const cap = names ? a === null ? `M${left} ${y}` : `M${a.toFixed(1)} ${y - 4}v8m0 -4` : a === null ? `M${x} ${bottom}` : `M${x - 4} ${a.toFixed(1)}h8m-4 0`;
          if (b !== null) shape(g, 'path', {class: 'l', 'stroke-width': 1.6, d: cap + (names ? `H${b.toFixed(1)}m0 -4v8` : `V${b.toFixed(1)}m-4 0h8`)});
        }
        shape(g, 'circle', {class: sound(s) ? '' : 'open', cx: x.toFixed(1), cy: y.toFixed(1), r: 3.6});
      }
    });
    // A text has a length where it is drawn, and none before.
    this.plot.replaceChildren(svg, this.tip || (this.tip = el('div', {class: 'tip', hidden: ''})));
    // What is written into bars lies above all of them.
    for (const [x, y, text, light, most] of this.words) {
      const node = shape(area, 'text', {class: light ? 'ink' : 'on', x: x.toFixed(1), y: (y + 4).toFixed(1)}, text);
      // Letters are wider than thought in some fonts.
      for (let n = text.length - 1; n > 2 && node.getComputedTextLength() > most; n--) node.textContent = /^\d/.test(text) ? '' : text.slice(0, n - 1) + '…';
    }
    // What is written among points lies over none of them, nor over another text: the first spot that has room for it. A spot is
    // a place, and the part of the text that is left of it.
    const dotted = names ? [] : shown.filter(([s]) => s.shape === 'points').map(([s]) => this.points(s)).sort((a, b) => a.length - b.length), titled = [];
    const taken = dotted.flat().filter(p => X(p[0]) !== null && p[1] !== null && Y(p[1]) !== null).map(p => {
      const x = X(p[0]), ys = [p[1], p[2], p[3]].filter(v => v != null).map(Y).filter(y => y !== null);
      return [x - 4, x + 4, Math.min(...ys) - 4, Math.max(...ys) + 4];
    });
    const spot = (text, spots, look) => {
      const node = shape(svg, 'text', {class: look}, text), width = (node.getComputedTextLength() || text.length * 6.8) + 2, box = ([x, y, part]) => [x - width * part, x + width * (1 - part), y - 9, y + 3];
      node.remove();
      const found = spots.find(at => { const [a, b, c, d] = box(at); return a >= left && b <= w && !taken.some(t => a < t[1] && b > t[0] && c < t[3] && d > t[2]); });
      if (found) taken.push(box(found));
      return found;
    };
    const write = (text, [x, y, part], look) => shape(svg, 'text', {class: look, x, y, 'text-anchor': part === 1 ? 'end' : part ? 'middle' : 'start'}, text);
    marks.forEach((mark, _, all) => {
      const [name, at, up] = mark, n = all.filter(m => m[2]).indexOf(mark), p = up ? X(at) : Y(at);
      if (p === null || (up ? p < left - 1 || p > right + 1 : p < top - 1 || p > bottom + 1)) return;
      const over = 10 + 15 * said + 14 * (n % 6), end = Number(p > (left + right) / 2), text = cut(name, 40);
      shape(svg, 'path', {class: 'm', d: up ? `M${p.toFixed(1)} ${over}V${bottom}` : `M${left} ${p.toFixed(1)}H${right}`});
      const spots = up ? [[p + (end ? -5 : 5), over + 10, end]] : [-4, 13, -16, 25, -28, 37].flatMap(by => [[right - 4, p + by, 1], [left + 4, p + by, 0]]);
      write(text, spot(text, spots, 'mt') || spots[0], 'mt');
    });
    // Points that have a name of their own are named where no axis names them: series of few points first, as long as there is
    // room for their names.
    for (const own of dotted.map(ps => ps.filter(p => p[5]))) {
      if (titled.length + own.length > w / 28) break;
      titled.push(...own);
    }
    for (const p of titled) {
      const x = X(p[0]), y = Y(p[1]);
      if (x === null || y === null || p[0] < x0 || p[0] > x1) continue;
      const text = cut(p[5], w < 560 ? 24 : 40), end = Number(x > (left + right) / 2);
      // Beside the point, else beyond the ends of its interval.
      const ends = p[2] == null ? [] : [Y(p[3]) - 8, (Y(p[2]) ?? bottom) + 14].flatMap(at => [[x, at, 0.5], [end ? x + 4 : x - 4, at, end]]);
      const found = spot(text, [...[4, -8, 16].map(by => [end ? x - 7 : x + 7, y + by, end]), ...ends], '');
      if (found) write(text, found, '');
    }
    bad.forEach(([v, n], row) => shape(svg, 'text', {class: 'w', x: right - 6, y: 13 + 15 * row, 'text-anchor': 'end'}, cut(`${MARK[v]}${n[0] ? ': ' : ''}${n.slice(0, 4).join(', ')}${n.length > 4 ? ' and more' : ''}`, Math.floor((right - left) / 6.5))));
    if (!shown.length) shape(svg, 'text', {x: (left + right) / 2, y: (top + bottom) / 2, 'text-anchor': 'middle'}, 'No series is switched on');
    this.line = shape(svg, 'path', {class: 'cur', d: ''});
    this.band = shape(svg, 'rect', {class: 'sel', y: top, height: room, width: 0, x: left});
    this.svg = svg;
    if (this.cursor !== null) this.look(this.cursor, null);
  }
  // Bars over the intervals of points, in their rows; what has no room for its label is read.
  boxes(g, s, row) {
    const bars = shape(g, 'g', {class: 'bar' + (s.hollow ? ' open' : '') + (sound(s) ? '' : ' pale'), 'stroke-dasharray': s.hollow ? s.dash : ''}), half = row * 0.36;
    for (const p of this.points(s)) {
      const a = Math.max(this.left - 2, this.X(p[2])), b = Math.min(this.right + 2, this.X(p[3])), y = this.Y(p[1]);
      if (!(b > a)) continue;
      // The ground on both sides would hide what is short.
      shape(bars, 'rect', {x: a.toFixed(2), y: (y - half).toFixed(1), width: (b - a).toFixed(2), height: (2 * half).toFixed(1), stroke: b - a < 3 ? 'none' : ''});
      const from = Math.max(a, this.left), most = Math.floor((Math.min(b, this.right) - from - 6) / 6.6);
      // A part of a name says something, a part of a figure something else.
      if (p[5] && most >= 4 && (p[5].length <= most || !/^\d/.test(p[5]))) this.words.push([from + 4, y, p[5].length > most ? p[5].slice(0, most - 1) + '…' : p[5], s.hollow || !sound(s), Math.min(b, this.right) - from - 6]);
    }
    return bars;
  }
  scale(factor) {
    if (this.sx === 'names') return;
    const lg = this.log.x, a = lg ? Math.log(this.x0) : this.x0, b = lg ? Math.log(this.x1) : this.x1;
    const at = this.cursor !== null ? (lg ? Math.log(this.invert(this.cursor)) : this.invert(this.cursor)) : (a + b) / 2;
    this.range(at - (at - a) * factor, at + (b - at) * factor);
  }
  range(a, b) {
    const lg = this.log.x, [f0, f1] = this.full.map(v => lg ? Math.log(v) : v);
    [a, b] = [Math.max(a, f0), Math.min(b, f1)];
    if (!(b - a > (f1 - f0) * 1e-5)) return;
    this.zoom = a <= f0 + 1e-12 && b >= f1 - 1e-12 ? null : [a, b].map(v => lg ? Math.exp(v) : v);
    this.draw(); this.sync();
  }
  // Values at a place across, the nearest to the pointer first; points by their distance.
  look(px, py) {
    const lines = [], x = this.invert(px), unit = (this.label('x').match(UNIT) || ['', ''])[1], yUnit = (this.label('y').match(UNIT) || ['', ''])[1];
    this.cursor = px;
    const found = [];
    this.shown().forEach(([s], order) => {
      const ps = this.points(s);
      if (s.shape === 'bars') {
        for (const p of ps) {
          const a = this.X(p[2]), b = this.X(p[3]);
          if (px < a - 2 || px > b + 2) continue;
          // From above, or from the row of the pointer; in it what is under the pointer itself.
          const off = Math.max(0, a - px, px - b);
          found.push([off / 10 + (py === null ? p[1] : Math.round(Math.abs(this.Y(p[1]) - py) / (this.bottom - this.top) * this.names.length)), s,
            `${p[5] ? p[5] + ', ' : ''}${read(p[3] - p[2])}${unit ? ' ' + unit : ''}${p[2] ? ' from ' + read(p[2]) : ''}${p[4] != null ? `, n = ${grouped(p[4])}` : ''} (${this.names[Math.round(p[1])] || ''})`]);
        }
      } else if (s.shape === 'step' || s.shape === 'line') {
        let lo = 0, hi = ps.length;
        while (lo < hi) { const mid = (lo + hi) >> 1; ps[mid][0] <= x ? lo = mid + 1 : hi = mid; }
        if (!lo) return;
        const p = ps[lo - 1], y = this.Y(p[1]) ?? this.bottom;
        if (p[1] === null) return;
        const of = this.dist ? {histogram: p[1] === 1 ? ' sample' : ' samples', tail: p[1] === 1 ? ' sample' : ' samples', head: ' per ' + this.data.u, pdf: ' per ' + this.data.u}[this.view] || '' : yUnit ? ' ' + yUnit : '';
        found.push([py === null ? 0 : Math.abs(y - py), s, read(p[1]) + of]);
      } else {
        for (const p of ps) {
          const X = this.X(p[0]), Y = this.Y(p[1]);
          if (X === null || Y === null) continue;
          const d = Math.hypot(X - px, py === null ? 0 : Y - py);
          const v = this.names ? p[0] : p[1], u = this.names ? unit : yUnit;
          const where = this.names ? this.names[Math.round(p[1])] || '' : `${read(p[0])}${unit ? ' ' + unit : ''}`;
          found.push([d, s, `${where ? where + ': ' : ''}${read(v)}${u ? ' ' + u : ''}${p[2] != null ? ` (${read(p[2])} .. ${read(p[3])})` : ''}${p[4] != null ? `, n = ${grouped(p[4])}` : ''}${p[5] ? ', ' + p[5] : ''}`]);
        }
      }
    });
    found.sort((a, b) => a[0] - b[0]);
    const most = found.slice(0, this.bars ? 6 : this.names || !found.some(f => f[1].shape === 'step' || f[1].shape === 'line') ? 3 : 8);
    if (!this.names || this.bars) lines.push(el('b', {}, `${read(x)}${unit ? ' ' + unit : ''}`));
    for (const [, s, text] of most) {
      const row = el('div', {}, Object.assign(el('i', {}), {style: `color:var(--s${s.colour})`}), `${s.name}${MARK[s.v] ? ' (' + MARK[s.v] + ')' : ''}: `);
      row.append(el('b', {}, text));
      lines.push(row);
    }
    if (found.length > most.length && most.length === 8) lines.push(el('div', {}, `${found.length - 8} more`));
    this.line.setAttribute('d', `M${px.toFixed(1)} ${this.top}V${this.bottom}`);
    if (!most.length) { this.tip.hidden = true; return `${lines.length ? lines[0].textContent + ': ' : ''}no values here`; }
    this.tip.hidden = false;
    this.tip.replaceChildren(...lines);
    const share = px / this.width, room = this.plot.clientWidth;
    this.tip.style.left = share < 0.5 ? Math.min(room - this.tip.offsetWidth, room * share + 14) + 'px' : Math.max(0, room * share - this.tip.offsetWidth - 14) + 'px';
    // Rows are low: beside the pointer it would hide them.
    this.tip.style.top = this.bars ? this.plot.clientHeight + 'px' : '14px';
    return `${lines[0].textContent}. ` + most.slice(0, 4).map(([, s, text]) => `${s.name}: ${text}`).join('; ');
  }
  leave() { this.cursor = null; if (this.line) this.line.setAttribute('d', ''); this.tip.hidden = true; }
  listen() {
    const p = this.plot;
    p.tabIndex = 0; p.setAttribute('role', 'group');
    p.setAttribute('aria-label', `${this.title}: arrow keys read values, plus and minus zoom, 0 shows all`);
    const say = el('div', {class: 'sr', 'aria-live': 'polite'});
    p.after(say);
    const at = e => { const box = p.getBoundingClientRect(), k = this.width / box.width; return [Math.min(this.right, Math.max(this.left, (e.clientX - box.left) * k)), (e.clientY - box.top) * k]; };
    let from = null;
    p.addEventListener('pointerdown', e => { if (e.button === 0 && e.pointerType !== 'touch') { from = at(e)[0]; p.setPointerCapture(e.pointerId); } });
    p.addEventListener('pointermove', e => {
      const [x, y] = at(e);
      if (from !== null && Math.abs(x - from) > 4) { this.band.setAttribute('x', Math.min(x, from)); this.band.setAttribute('width', Math.abs(x - from)); this.tip.hidden = true; }
      else this.look(x, y);
    });
    p.addEventListener('pointerup', e => {
      const x = at(e)[0];
      if (from !== null && Math.abs(x - from) > 6) { const [a, b] = [this.invert(Math.min(x, from)), this.invert(Math.max(x, from))]; this.cursor = null; this.range(...(this.log.x ? [Math.log(a), Math.log(b)] : [a, b])); }
      from = null; this.band.setAttribute('width', 0);
    });
    p.addEventListener('pointercancel', () => { from = null; this.band.setAttribute('width', 0); });
    p.addEventListener('pointerleave', () => this.leave());
    p.addEventListener('dblclick', () => { this.zoom = null; this.draw(); this.sync(); });
    p.addEventListener('blur', () => this.leave());
    p.addEventListener('keydown', e => {
      // Those are the browser's own.
      if (e.ctrlKey || e.metaKey || e.altKey) return;
      const step = (this.right - this.left) / (e.shiftKey ? 10 : 60), mid = (this.left + this.right) / 2;
      const move = {ArrowRight: step, ArrowLeft: -step}[e.key];
      if (move) say.textContent = this.look(Math.min(this.right, Math.max(this.left, (this.cursor ?? mid) + move)), null);
      else if (e.key === 'Home') say.textContent = this.look(this.left, null);
      else if (e.key === 'End') say.textContent = this.look(this.right, null);
      else if (e.key === '+' || e.key === '=') this.scale(0.5);
      else if (e.key === '-') this.scale(2);
      else if (e.key === '0') { this.zoom = null; this.draw(); this.sync(); }
      else if (e.key === 'Escape') this.leave();
      else return;
      e.preventDefault();
    });
  }
  rows() {
    const valid = s => MARK[s.v] || s.v;
    if (this.dist) return [['run', 'kernel', 'part', 'validity', 'samples', 'clamped', 'from_ns', 'below_ns', 'count'], ...this.all.flatMap(s => s.bins.map(b => [s.r, s.kn || '', s.p, valid(s), s.n, s.c, ...b]))];
    const name = (axis, value) => axis.s === 'names' ? axis.names[Math.round(value)] ?? '' : value;
    // A bar's ends are where it lies, no interval of a value.
    const ends = this.bars ? ['from', 'to'] : ['low', 'high'];
    return [['series', 'validity', this.data.x.l || 'x', this.data.y.l || 'of', ...ends, 'count', 'label'],
      ...this.all.flatMap(s => s.p.filter(p => p[1] !== null).map(p => [s.name, valid(s), name(this.data.x, p[0]), name(this.data.y, p[1]), p[2] ?? '', p[3] ?? '', p[4] ?? '', p[5] ?? '']))];
  }
  csv() { download(this.data.id + '.csv', this.rows()); }
  // The drawn values as a table, made when somebody opens it.
  table(details) {
    const rows = this.rows(), most = 2000;
    const table = el('table', {}, el('thead', {}, el('tr', {}, ...rows[0].map(h => el('th', {scope: 'col'}, String(h))))));
    table.append(el('tbody', {}, ...rows.slice(1, most + 1).map(r => el('tr', {}, ...r.map(v => el('td', typeof v === 'number' ? {class: 'f'} : {}, typeof v === 'number' ? String(Number(v.toPrecision(12))) : String(v)))))));
    const box = el('div', {class: 'table long', tabindex: '0', role: 'group', 'aria-label': 'Values of ' + this.title}, table);
    details.append(box);
    if (rows.length - 1 > most) details.append(el('p', {class: 'notes'}, `The first ${most} of ${rows.length - 1} rows; the CSV has all.`));
  }
}

const plots = [];
for (const node of document.querySelectorAll('figure[data-chart]')) {
  const start = () => {
    if (node.plot) return;
    node.plot = new Plot(node, DATA[Number(node.dataset.chart)]);
    plots.push(node.plot);
  };
  const values = node.querySelector('details.data');
  if (values) values.addEventListener('toggle', () => { if (values.open && values.children.length === 1) { start(); node.plot.table(values); } });
  // Inside of something closed there is no width to draw for.
  const fold = node.closest('details.fold');
  if (fold && !fold.open) fold.addEventListener('toggle', start, {once: true}); else start();
}
let waiting = null;
new ResizeObserver(() => { cancelAnimationFrame(waiting); waiting = requestAnimationFrame(() => { for (const p of plots) if (!p.fixed && Math.abs(p.plot.clientWidth - p.width) > 1 && p.plot.clientWidth > 0) p.draw(); }); }).observe(document.body);
addEventListener('beforeprint', () => { for (const p of plots) { p.fixed = 700; p.leave(); p.draw(); } });
addEventListener('afterprint', () => { for (const p of plots) { p.fixed = 0; p.draw(); } });
for (const button of document.querySelectorAll('button.csv')) {
  button.hidden = false;
  button.addEventListener('click', () => {
    const table = button.parentElement.querySelector('table');
    download(button.dataset.name + '.csv', [...table.rows].map(r => [...r.cells].map(c => c.textContent)));
  });
}
const theme = document.querySelector('button.theme');
theme.hidden = false;
theme.addEventListener('click', () => {
  const dark = matchMedia('(prefers-color-scheme:dark)').matches, now = document.documentElement.dataset.theme || (dark ? 'dark' : 'light');
  document.documentElement.dataset.theme = now === 'dark' ? 'light' : 'dark';
});
})();
