/** The lines that a person sees for one event. Bookkeeping events give none. */
import type { CompiledFlow } from '../../../ir/nodes.ts';
import type { Event } from '../../../ir/events.ts';
import { seconds } from '../text.ts';

export interface Notice {
  readonly kind: 'entered' | 'ended' | 'failed' | 'waiting' | 'answered' | 'retry' | 'trouble' | 'undo' | 'stopped';
  readonly node: string;
  readonly text: string;
  readonly ms?: number;
}

/** `kind` is the kind of the effect that the event is about. */
export function noticesOf(event: Event, node: string, kind: string | null, flow: CompiledFlow): readonly Notice[] {
  switch (event.type) {
    case 'effect.requested':
      return event.question === undefined
        ? []
        : [{ kind: 'waiting', node, text: `${event.question.choices.join(' or ')}?` }];
    case 'effect.settled':
      return kind === 'ask' && event.result.ok
        ? [{ kind: 'answered', node, text: answerText(event.result.value) }]
        : [];
    case 'effect.judged':
      if (event.verdict === 'accepted') return [];
      if (event.verdict === 'failed')
        return [{ kind: 'trouble', node, text: `${event.error.type}: ${event.error.message}` }];
      return [
        {
          kind: 'retry',
          node,
          text: `${event.error.type}: ${event.error.message}; retry${delayText(event.notBefore - event.at)}`,
        },
      ];
    case 'expression.failed':
      return [{ kind: 'trouble', node, text: event.error.message }];
    case 'value.missing':
      return [
        {
          kind: 'trouble',
          node,
          text: `reads a value that does not exist: ${event.paths.map((path) => path.join('.')).join(', ')}`,
        },
      ];
    case 'guard.failed':
      return [{ kind: 'trouble', node, text: `a condition cannot be evaluated: ${event.message}` }];
    case 'meter.tripped': {
      const label = flow.meters[event.meter]?.label ?? event.meter;
      return [
        {
          kind: 'trouble',
          node,
          text:
            event.why === 'limit'
              ? `${label} is reached`
              : `${label} is too small to finish: ${event.left} left, at least ${event.needs} needed`,
        },
      ];
    }
    case 'meter.raised':
      return event.raises.map(({ meter, by }) => ({
        kind: 'answered',
        node,
        text: `${flow.meters[meter]?.label ?? meter} is raised by ${by}`,
      }));
    case 'fork.joined':
      return event.met
        ? []
        : [
            {
              kind: 'trouble',
              node: flow.nodes[event.to]?.label.name ?? node,
              text: `the join failed${event.why === 'late' ? ': timeout' : ''}`,
            },
          ];
    case 'undo.requested':
      return [{ kind: 'undo', node, text: `calls ${event.tool}` }];
    case 'run.halted':
      return [{ kind: 'trouble', node, text: `cancelled by ${event.by}: ${event.why}` }];
    default:
      return [];
  }
}

/** `approve (anna)` */
export function answerText(value: unknown): string {
  const { choice, by } = (value ?? {}) as { choice?: unknown; by?: unknown };
  return `${String(choice)}${typeof by === 'string' && by !== '' ? ` (${by})` : ''}`;
}

function delayText(ms: number): string {
  return ms <= 0 ? ' at once' : ` in ${seconds(ms)}`;
}
