/**
 * Text for an agent out of artifacts: what the last one left, what was changed, a field of the brief, a file. Whoever can
 * read them returns sections; a source that gives nothing is left out, and the journal says which.
 */
import type { Expr, NodeId } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { OBSERVATIONS } from '../../lower/agent-turn/slots.ts';
import { literal, quote } from '../../expressions/cel-text.ts';
import { addCheck, addLet } from './lowering.ts';
import type { Lowering } from './lowering.ts';
import { CONTEXT, TURN, set, tell } from './slots.ts';

const CHECK = 'context:assemble';
/** A task is repeated at the end of a long prompt, where it is long enough to be forgotten. */
const TASK_MIN = 50;
const CONTEXT_MIN = 2000;

/** Assembles what the sources give into `context.text`, then goes on. A failure leaves the context empty. */
export function assemble(
  l: Lowering,
  sources: Json,
  hint: string,
  origin: string,
  next: NodeId,
  agent: string,
): NodeId {
  const heading = '[AGENT CONTEXT — assembled from artifacts]';
  const done = addLet(
    l,
    `${hint}.layout`,
    origin,
    [{ slot: CONTEXT, path: ['text'], mode: 'set', value: sections(heading) }],
    next,
  );
  const none = addLet(l, `${hint}.none`, origin, [set(CONTEXT, '{"text": ""}'), set('error', 'null')], next);
  return addCheck(l, hint, origin, CHECK, inputOf(sources, agent), CONTEXT, done, none);
}

/** Puts what the sources give into the shared history, as a block of its own. */
export function injectContext(
  l: Lowering,
  sources: Json,
  hint: string,
  origin: string,
  receiver: string,
  next: NodeId,
): NodeId {
  const inject = addLet(
    l,
    `${hint}.block`,
    origin,
    [tell(sections(`[HANDOFF CONTEXT — assembled for ${receiver}]`), receiver)],
    next,
  );
  const some = l.builder.add(l.builder.fresh(`${hint}.some`), {
    op: 'pick',
    label: { name: origin },
    cases: [{ when: `size(${CONTEXT}.sections) > 0`, to: inject }],
    otherwise: next,
  });
  const none = addLet(l, `${hint}.none`, origin, [set('error', 'null')], next);
  return addCheck(l, hint, origin, CHECK, inputOf(sources, receiver), CONTEXT, some, none);
}

/** Reads sources for a message of the engine's own; they are then in `context.sections`. */
export function readSources(
  l: Lowering,
  sources: Json,
  hint: string,
  origin: string,
  agent: string,
  next: NodeId,
): NodeId {
  const none = addLet(l, `${hint}.none`, origin, [set(CONTEXT, '{"sections": []}'), set('error', 'null')], next);
  return addCheck(l, hint, origin, CHECK, inputOf(sources, agent), CONTEXT, next, none);
}

export function reminder(): Expr {
  return `size(text(input)) > ${TASK_MIN} && size(${CONTEXT}.text) > ${CONTEXT_MIN} ? text("[Task Reminder]\\n", input) : null`;
}

export function sections(heading: string): Expr {
  return `size(${CONTEXT}.sections) == 0 ? "" : text(${quote(heading)}, "\\n\\n", join(${CONTEXT}.sections.map(s, text("## ", s.label, "\\n", s.text)), "\\n\\n"))`;
}

function inputOf(sources: Json, agent: string): { readonly [field: string]: Expr } {
  return { sources: literal(sources), observations: OBSERVATIONS, turn: TURN, agent: quote(agent) };
}
