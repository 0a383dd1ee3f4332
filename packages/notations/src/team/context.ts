/**
 * Context of an agent from artifacts: the session summary, recent changes, a field of the brief, a file. The effects layer
 * reads them and returns sections. A source without text is left out, and the journal names it.
 */
import { CONTEXT_SOURCES } from '@sluice-internal/kernel/catalog';
import type { Expr, NodeId } from '@sluice-internal/kernel/ir';
import type { Json } from '@sluice-internal/kernel/expr';
import { suggestionOf } from '@sluice-internal/compile/source';
import type { Path } from '@sluice-internal/compile/source';
import { OBSERVATIONS, set, setField } from '@sluice-internal/compile/lower';
import { literal, quote } from '@sluice-internal/compile/expressions';
import { part, type Lowering, type Place } from './lowering.ts';
import type { Reading } from './model.ts';
import type { RawSource } from './schema/agents.ts';
import { CONTEXT, TURN, tell } from './slots.ts';

const CHECK = 'context:assemble';
/** The task is repeated after a long context, if the task is longer than this. */
const TASK_MIN = 50;
const CONTEXT_MIN = 2000;
const SOURCE_CHARS = 4000;
const OWN = 'own_history';
/** Sources that need an argument after the colon. */
const NEEDS: ReadonlySet<string> = new Set(['brief_field', 'file']);
/** Sources whose argument is a number. */
const NUMBERED: ReadonlySet<string> = new Set(['changes_recent', OWN]);

/** Reports unknown sources and wrong arguments. */
export function checkSources(
  sources: readonly RawSource[],
  path: Path,
  forAgent: boolean,
  { report, at }: Reading,
): void {
  for (const [index, { Source }] of sources.entries()) {
    const [kind = '', ...rest] = Source.split(':');
    const argument = rest.join(':');
    const place = at(...path, index, 'Source');
    const known: readonly string[] = forAgent ? [...CONTEXT_SOURCES, OWN] : CONTEXT_SOURCES;
    if (kind === OWN && !forAgent)
      report.warning(
        'unused-field',
        place,
        '`own_history` is left out here: it exists only in the `Context` of an agent',
        { help: 'Leave it out.' },
      );
    else if (!known.includes(kind))
      report.error('bad-value', place, `unknown source \`${Source}\``, { help: suggestionOf(kind, known) });
    else if (NEEDS.has(kind) && argument === '')
      report.error('bad-value', place, `\`${kind}\` needs an argument`, { help: `Write \`${kind}:…\`.` });
    else if (NUMBERED.has(kind) && argument !== '' && !/^[1-9]\d*$/.test(argument))
      report.error('bad-value', place, `\`${kind}\` takes a number, but has \`${argument}\``, {
        help: `Write \`${kind}:5\`.`,
      });
  }
}

/** A source as the effects layer reads it. */
export function sourceOf({ Source, MaxChars, Label }: RawSource): Json {
  return { source: Source, label: Label ?? Source, maxChars: MaxChars ?? SOURCE_CHARS };
}

/** Assembles the sources into `context.text`. A failure leaves it empty. */
export function assemble(l: Lowering, sources: Json, place: Place, next: NodeId, agent: string): NodeId {
  const text = sections('[AGENT CONTEXT — assembled from artifacts]');
  const done = l.kit.set(part(place, 'layout'), [setField(CONTEXT, ['text'], text)], next);
  return addCheck(l, sources, place, agent, { done, none: '{"text": ""}', next });
}

/** Adds the sources to the shared history as one block. */
export function injectContext(l: Lowering, sources: Json, place: Place, receiver: string, next: NodeId): NodeId {
  const block = tell(sections(`[HANDOFF CONTEXT — assembled for ${receiver}]`), receiver);
  const inject = l.kit.set(part(place, 'block'), [block], next);
  const done = l.kit.when(part(place, 'some'), `size(${CONTEXT}.sections) > 0`, inject, next);
  return addCheck(l, sources, place, receiver, { done, none: null, next });
}

/** Reads sources into `context.sections`, for a message of the engine. */
export function readSources(l: Lowering, sources: Json, place: Place, agent: string, next: NodeId): NodeId {
  return addCheck(l, sources, place, agent, { done: next, none: '{"sections": []}', next });
}

interface Assembled {
  readonly done: NodeId;
  /** The context after a failure, which is not an error of the session. */
  readonly none: Expr | null;
  readonly next: NodeId;
}

function addCheck(l: Lowering, sources: Json, place: Place, agent: string, { done, none, next }: Assembled): NodeId {
  const input = { sources: literal(sources), observations: OBSERVATIONS, turn: TURN, agent: quote(agent) };
  const writes = [...(none === null ? [] : [set(CONTEXT, none)]), set('error', 'null')];
  const fail = l.kit.set(part(place, 'none'), writes, next);
  return l.kit.check(place, { check: CHECK, input, into: CONTEXT, next: done, fail });
}

export function reminder(): Expr {
  return `size(text(input)) > ${TASK_MIN} && size(${CONTEXT}.text) > ${CONTEXT_MIN} ? text("[Task Reminder]\\n", input) : null`;
}

function sections(heading: string): Expr {
  return `size(${CONTEXT}.sections) == 0 ? "" : text(${quote(heading)}, "\\n\\n", join(${CONTEXT}.sections.map(s, text("## ", s.label, "\\n", s.text)), "\\n\\n"))`;
}
