/** Progress as plain lines on standard error. */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Screen } from '../screen.ts';
import { oneLine, seconds } from '../text.ts';
import type { Notice } from './notices.ts';
import { createProgress, type View } from './progress.ts';

export function createPlainView(flow: CompiledFlow, known: number, screen: Screen): View {
  const progress = createProgress(flow);
  let ended = false;
  return {
    take: (event) => {
      if (ended) return;
      const notices = progress.take(event);
      if (event.seq > known) for (const notice of notices) screen.note(lineOf(notice));
    },
    hear: () => undefined,
    pause: () => undefined,
    end: () => void (ended = true),
  };
}

export function lineOf({ kind, node, text, ms }: Notice): string {
  const detail = text === '' ? '' : `  ${oneLine(text, 300)}`;
  return `${LABELS[kind].padEnd(8)}${node === '' ? '' : ` ${oneLine(node)}`}${detail}${ms === undefined ? '' : `  ${seconds(ms)}`}`;
}

const LABELS = {
  entered: 'enter',
  ended: 'done',
  failed: 'failed',
  waiting: 'waiting',
  answered: 'answer',
  tool: 'tool',
  refused: 'refused',
  retry: 'retry',
  trouble: 'trouble',
  undo: 'undo',
  undone: 'undone',
  stopped: 'stopped',
  skipped: 'skipped',
} as const satisfies { readonly [kind in Notice['kind']]: string };
