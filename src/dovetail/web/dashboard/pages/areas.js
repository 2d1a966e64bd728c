// Computes a treemap: divides a box into rows of rectangles, each as large as its share.

export function areas(items, sizeOf, whole, width, height) {
  const found = [];
  const total = Math.max(whole, items.reduce((sum, one) => sum + sizeOf(one), 0));
  if (!total) return found;
  const scale = (width * height) / total;
  let [x, y, w, h] = [0, 0, width, height];
  let rest = items.filter((one) => sizeOf(one) > 0);
  while (rest.length && w > 0.5 && h > 0.5) {
    const isTall = h >= w;
    const side = isTall ? w : h;
    const n = rowLength(rest, sizeOf, scale, side);
    const row = rest.slice(0, n);
    const area = row.reduce((sum, one) => sum + sizeOf(one), 0) * scale;
    const depth = Math.min(area / side, isTall ? h : w);
    let at = 0;
    for (const item of row) {
      const length = (sizeOf(item) * scale) / depth;
      found.push(isTall ? rectangle(item, x + at, y, length, depth) : rectangle(item, x, y + at, depth, length));
      at += length;
    }
    if (isTall) [y, h] = [y + depth, h - depth];
    else [x, w] = [x + depth, w - depth];
    rest = rest.slice(n);
  }
  return found;
}

// The number of items that makes the rectangles of the row closest to squares.
function rowLength(items, sizeOf, scale, side) {
  let [best, worst] = [1, Infinity];
  let area = 0;
  for (let n = 1; n <= items.length; n += 1) {
    area += sizeOf(items[n - 1]) * scale;
    const depth = area / side;
    const least = sizeOf(items[n - 1]) * scale / depth;
    const most = sizeOf(items[0]) * scale / depth;
    const ratio = Math.max(most / depth, depth / least);
    if (ratio > worst) return best;
    [best, worst] = [n, ratio];
  }
  return best;
}

const round = (value) => Math.round(value * 10) / 10;
const rectangle = (item, x, y, w, h) => ({ item, x: round(x), y: round(y), w: round(w), h: round(h) });
