/** One frame of the live view, as lines that fit the terminal. Pure, for tests. */
import type { CompiledFlow, Event } from '@sluice-internal/kernel/ir';
import { cut, oneLine, pad, seconds, widthOf, wrap } from '@sluice-internal/library/documents';
import type { Colors } from '@sluice-internal/library/documents';
import type { Progress, Step, StepStatus } from './progress.ts';

export interface Scene {
  readonly run: string;
  readonly flow: CompiledFlow;
  readonly progress: Progress;
  readonly elapsedMs: number;
  readonly tick: number;
  /** The final frame: it stays on the screen. */
  readonly last: boolean;
}

const SPINNER = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏';

export function frameOf(
  scene: Scene,
  size: { readonly columns: number; readonly rows: number },
  colors: Colors,
): readonly string[] {
  const { flow, run, progress, elapsedMs, last } = scene;
  const width = Math.max(8, size.columns - 1);
  const head = titleLine(oneLine(flow.id), run, seconds(elapsedMs), width, colors);
  const usage = progress.spending();
  const events = last ? [] : progress.latest.map((event) => eventLine(event, flow, width, colors));
  const foot = [...(usage === '' ? [] : [colors.dim(cut(`  ${usage}`, width))]), ...events];
  // The last frame may scroll; others must fit. Events are dropped first, then the usage line.
  if (last) return [head, ...stepLines(progress.steps, progress.steps.length, scene.tick, width, colors), ...foot];
  const room = Math.max(2, size.rows - 1) - 1;
  const kept = foot.slice(0, Math.max(0, room - Math.min(2, progress.steps.length)));
  return [head, ...stepLines(progress.steps, room - kept.length, scene.tick, width, colors), ...kept];
}

function titleLine(flow: string, run: string, time: string, width: number, colors: Colors): string {
  const left = cut(`${flow}  ${run}`, width - time.length - 2);
  const gap = ' '.repeat(Math.max(2, width - widthOf(left) - time.length));
  const name = left.slice(0, flow.length);
  return `${colors.bold(name)}${colors.dim(left.slice(flow.length))}${gap}${colors.dim(time)}`;
}

/** Shows the newest steps and counts the rest. */
function stepLines(
  steps: readonly Step[],
  room: number,
  tick: number,
  width: number,
  colors: Colors,
): readonly string[] {
  const hidden = steps.length > room ? steps.length - Math.max(1, room - 1) : 0;
  const shown = steps.slice(hidden);
  const column = Math.min(28, Math.max(0, ...shown.map(({ name }) => widthOf(oneLine(name)))));
  const lines = shown.map((step) => stepLine(step, column, tick, width, colors));
  const earlier = hidden === 0 || room < 2 ? [] : [colors.dim(`  … ${hidden} earlier`)];
  const free = room - earlier.length - lines.length;
  return [...earlier, ...lines, ...streamedLines(shown, Math.min(free, TEXT_LINES_MAX), width, colors)];
}

const TEXT_LINES_MAX = 6;

/** The end of the text that models are generating, wrapped at the width of the terminal. */
function streamedLines(steps: readonly Step[], room: number, width: number, colors: Colors): readonly string[] {
  const speaking = steps.filter(({ status, text }) => status === 'running' && text.trim() !== '');
  if (speaking.length === 0 || room <= 0) return [];
  const each = Math.max(1, Math.floor(room / speaking.length));
  const lines = speaking.flatMap(({ text }) => wrap(text.trim(), width - TEXT_INDENT.length).slice(-each));
  return lines.slice(-room).map((line) => colors.dim(`${TEXT_INDENT}${line}`));
}

const TEXT_INDENT = '    ';

function stepLine(step: Step, column: number, tick: number, width: number, colors: Colors): string {
  const [still, color] = SIGNS[step.status];
  const sign = step.status === 'running' ? (SPINNER[tick % SPINNER.length] ?? still) : still;
  const branch = '  '.repeat(step.thread.split(':').length - 1);
  const name = pad(cut(oneLine(step.name), column), column);
  const time = step.endedAt === null ? '' : seconds(step.endedAt - step.startedAt);
  const detail = cut([step.doing, time].filter((part) => part !== '').join('  '), width - column - branch.length - 6);
  return `  ${branch}${colors[color](sign)} ${name}  ${colors.dim(detail)}`;
}

const SIGNS: {
  readonly [status in StepStatus]: readonly [sign: string, color: 'cyan' | 'yellow' | 'green' | 'red' | 'dim'];
} = {
  running: ['·', 'cyan'],
  waiting: ['?', 'yellow'],
  done: ['✓', 'green'],
  failed: ['✗', 'red'],
  stopped: ['■', 'dim'],
};

function eventLine(event: Event, flow: CompiledFlow, width: number, colors: Colors): string {
  const id = ('node' in event ? event.node : undefined) ?? '';
  const about = flow.nodes[id]?.label.name ?? ('key' in event ? event.key : id);
  return colors.dim(cut(`  ${String(event.seq).padStart(5)} ${event.type} ${oneLine(about)}`, width));
}
