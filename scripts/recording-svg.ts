/** A recorded session of a terminal, as an asciicast and as an SVG that plays it. */
import xterm from '@xterm/headless';

/** A piece of output, and the second at which the terminal got it. */
export interface Written {
  readonly at: number;
  readonly text: string;
}
/** A screen, and the second from which it is shown. Each row is markup. */
interface Frame {
  readonly at: number;
  readonly rows: readonly string[];
}

const FONT = { size: 13, width: 7.83, height: 18 };
const MARGIN = 16;
/** The last screen stays for this long before the recording begins again. */
const LAST = 4;
/** Screens that are shown for less than this are left out. */
const LEAST = 0.1;

export function castOf(written: readonly Written[], width: number, height: number): string {
  const head = { version: 2, width, height, env: { TERM: 'xterm-256color' } };
  const lines = written.map(({ at, text }) => [Number(at.toFixed(3)), 'o', text]);
  return `${[head, ...lines].map((line) => JSON.stringify(line)).join('\n')}\n`;
}

/** What a terminal shows after each piece of output. */
export async function framesOf(written: readonly Written[], cols: number, rows: number): Promise<readonly Frame[]> {
  const terminal = new xterm.Terminal({ cols, rows, allowProposedApi: true, scrollback: 0 });
  const frames: Frame[] = [];
  for (const { at, text } of written) {
    await new Promise<void>((done) => terminal.write(text, done));
    const shown = Array.from({ length: rows }, (_, row) => rowOf(terminal, row, cols));
    const last = frames.at(-1);
    if (last !== undefined && last.rows.join('\n') === shown.join('\n')) continue;
    if (last !== undefined && at - last.at < LEAST) frames.pop();
    frames.push({ at: last !== undefined && at - last.at < LEAST ? last.at : at, rows: shown });
  }
  terminal.dispose();
  return frames;
}

/** One row as runs of cells that look the same. */
function rowOf(terminal: InstanceType<typeof xterm.Terminal>, row: number, cols: number): string {
  const line = terminal.buffer.active.getLine(terminal.buffer.active.baseY + row);
  const runs: { look: string; from: number; text: string }[] = [];
  for (let column = 0; column < cols; column++) {
    const cell = line?.getCell(column);
    const text = cell?.getChars() === '' ? ' ' : (cell?.getChars() ?? ' ');
    const look = cell === undefined || text === ' ' ? (runs.at(-1)?.look ?? '') : lookOf(cell);
    const last = runs.at(-1);
    if (last?.look === look) last.text += text;
    else runs.push({ look, from: column, text });
  }
  return runs
    .map(({ look, from, text }) => ({ look, from, text: text.trimEnd() }))
    .filter(({ text }) => text !== '')
    .map(
      ({ look, from, text }) =>
        `<tspan x="${at(from)}"${look === '' ? '' : ` class="${look}"`}>${escaped(text)}</tspan>`,
    )
    .join('');
}

interface Cell {
  isBold(): number;
  isDim(): number;
  isFgDefault(): boolean;
  getFgColor(): number;
}

function lookOf(cell: Cell): string {
  const colour = cell.isFgDefault() ? [] : [`c${cell.getFgColor() % 8}`];
  return [...colour, ...(cell.isBold() ? ['b'] : []), ...(cell.isDim() ? ['d'] : [])].join(' ');
}

/** Equal rows are drawn once and placed by reference. One animation for each screen shows it for its time. */
export function playerOf(frames: readonly Frame[], cols: number): string {
  const height = Math.max(...frames.map(({ rows }) => rows.length)) * FONT.height + 2 * MARGIN;
  const width = Math.ceil(cols * FONT.width + 2 * MARGIN);
  const drawn = new Map<string, number>();
  const ends = (frames.at(-1)?.at ?? 0) + LAST;
  const percent = (seconds: number): string => `${Number(((100 * seconds) / ends).toFixed(3))}%`;
  const screens = frames.map(({ at: from, rows }, index) => {
    const placed = rows.flatMap((row, line) => {
      if (row === '') return [];
      const id = drawn.get(row) ?? drawn.size;
      drawn.set(row, id);
      return [`<use href="#r${id}" y="${line * FONT.height}"/>`];
    });
    const until = frames[index + 1]?.at ?? ends;
    const steps = [
      ...(index === 0 ? [] : [`0%{visibility:hidden}`]),
      `${index === 0 ? '0%' : percent(from)}{visibility:visible}`,
      ...(index === frames.length - 1 ? [] : [`${percent(until)}{visibility:hidden}`]),
      `100%{visibility:${index === frames.length - 1 ? 'visible' : 'hidden'}}`,
    ];
    return {
      group: `<g class="s" style="animation-name:k${index}">${placed.join('')}</g>`,
      key: `@keyframes k${index}{${steps.join('')}}`,
    };
  });
  const rows = [...drawn].map(([row, id]) => `<text id="r${id}" y="${MARGIN + FONT.size}">${row}</text>`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="A run of Sluice in a terminal">
<style>
svg{--bg:#ffffff;--line:#e6e6ea;--fg:#17171c;--d:#6d6d78;--c1:#c2273a;--c2:#15803d;--c3:#a15c00;--c4:#2563eb;--c5:#7c3aed;--c6:#0e7490}
@media(prefers-color-scheme:dark){svg{--bg:#0b0b0e;--line:#222228;--fg:#ededf0;--d:#85858f;--c1:#ff7b86;--c2:#4cc38a;--c3:#f0b34a;--c4:#6ea8fe;--c5:#b794f6;--c6:#5cc8d8}}
text{font:${FONT.size}px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--fg);white-space:pre}
.b{font-weight:600}.d{fill:var(--d)}${[1, 2, 3, 4, 5, 6].map((each) => `.c${each}{fill:var(--c${each})}`).join('')}
.s{visibility:hidden;animation:${ends.toFixed(2)}s step-end infinite}
@media(prefers-reduced-motion:reduce){.s{animation:none}.s:last-of-type{visibility:visible}}
${screens.map(({ key }) => key).join('\n')}
</style>
<defs>${rows.join('\n')}</defs>
<rect x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8" fill="var(--bg)" stroke="var(--line)"/>
${screens.map(({ group }) => group).join('\n')}
</svg>
`;
}

function at(column: number): number {
  return Number((MARGIN + column * FONT.width).toFixed(1));
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
