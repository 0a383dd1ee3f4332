/** Small plots as SVG text. They need no script and no other file. */
import { harmless } from '@sluice-internal/library/documents';

/** Text of models and documents, for HTML and XML. Characters that XML does not have, or that reorder text, become escapes. */
export function escapeXml(text: string): string {
  return harmless(text).replaceAll(/[&<>"']/g, (char) => ENTITIES[char] ?? char);
}

const ENTITIES: { readonly [char: string]: string } = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const WIDTH = 560;

/** Horizontal bars with their numbers, largest first. */
export function barPlot(counts: { readonly [name: string]: number }): string {
  const rows = Object.entries(counts).sort(([a, x], [b, y]) => y - x || a.localeCompare(b));
  if (rows.length === 0) return EMPTY;
  const most = Math.max(...rows.map(([, count]) => count), 1);
  const height = rows.length * 26 + 8;
  const bars = rows.map(([name, count], index) => {
    const y = 6 + index * 26;
    const length = (count / most) * (WIDTH - 260);
    return (
      `<text x="180" y="${y + 14}" text-anchor="end">${escapeXml(name)}</text>` +
      `<rect class="bar" x="190" y="${y}" width="${length.toFixed(1)}" height="18" rx="2"/>` +
      `<text x="${(196 + length).toFixed(1)}" y="${y + 14}">${count}</text>`
    );
  });
  return svg(height, bars.join(''));
}

export interface Mark {
  readonly at: number;
  readonly label: string;
}

/** A histogram with 20 bins. Marks are vertical lines, such as a limit. */
export function histogram(values: readonly number[], unit: string, marks: readonly Mark[] = []): string {
  if (values.length === 0) return EMPTY;
  const ends = [...values, ...marks.map(({ at }) => at)];
  const low = ends.reduce((least, value) => Math.min(least, value), Infinity);
  const high = ends.reduce((most, value) => Math.max(most, value), -Infinity);
  const span = high - low || 1;
  const bins = Array.from({ length: BINS }, () => 0);
  for (const value of values) {
    const bin = Math.min(BINS - 1, Math.floor(((value - low) / span) * BINS));
    bins[bin] = (bins[bin] ?? 0) + 1;
  }
  const most = Math.max(...bins);
  const x = (value: number): number => LEFT + ((value - low) / span) * INNER;
  const bars = bins.map((count, index) => {
    const height = (count / most) * 110;
    return `<rect class="bar" x="${(LEFT + (index * INNER) / BINS).toFixed(1)}" y="${(120 - height).toFixed(1)}" width="${(INNER / BINS - 1).toFixed(1)}" height="${height.toFixed(1)}"><title>${count}</title></rect>`;
  });
  const lines = marks.map(({ at, label }, index) => {
    const anchor = x(at) > WIDTH / 2 ? 'end' : 'start';
    return `<line class="mark" x1="${x(at).toFixed(1)}" y1="4" x2="${x(at).toFixed(1)}" y2="120"/><text class="mark" x="${(x(at) + (anchor === 'end' ? -4 : 4)).toFixed(1)}" y="${14 + index * 14}" text-anchor="${anchor}">${escapeXml(label)}</text>`;
  });
  const axis = `<line class="axis" x1="${LEFT}" y1="120" x2="${LEFT + INNER}" y2="120"/><text x="${LEFT}" y="138">${shortNumber(low)}</text><text x="${LEFT + INNER}" y="138" text-anchor="end">${shortNumber(high)} ${escapeXml(unit)}</text><text x="${LEFT - 6}" y="14" text-anchor="end">${most}</text>`;
  return svg(146, bars.join('') + lines.join('') + axis);
}

const BINS = 20;
const LEFT = 50;
const INNER = WIDTH - LEFT - 20;
const EMPTY = '<p class="none">No data.</p>';

/** A value with its 95 % interval on a scale from 0 to 1, and the target as a line. */
export function intervalPlot(value: number, interval: readonly [number, number] | null, target: number | null): string {
  const x = (share: number): string => (6 + Math.min(1, Math.max(0, share)) * 148).toFixed(1);
  const [low, high] = interval ?? [value, value];
  const goal = target === null ? '' : `<line class="mark" x1="${x(target)}" y1="2" x2="${x(target)}" y2="18"/>`;
  return `<svg viewBox="0 0 160 20" width="160" height="20" role="img" aria-label="${shortNumber(value)}"><line class="axis" x1="6" y1="10" x2="154" y2="10"/><line class="range" x1="${x(low)}" y1="10" x2="${x(high)}" y2="10"/>${goal}<circle class="dot" cx="${x(value)}" cy="10" r="4"/></svg>`;
}

export function shortNumber(value: number): string {
  if (Number.isInteger(value)) return String(value);
  return Number(value.toPrecision(3)).toString();
}

function svg(height: number, content: string): string {
  return `<svg viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">${content}</svg>`;
}
