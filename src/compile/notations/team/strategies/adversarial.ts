/**
 * `adversarial`: in every stage one agent makes something and another criticises it, seeing that thing and nothing else.
 * What passes, or what was criticised last when the rounds are over, is promoted, and later stages build on it.
 */
import type { NodeId, Write } from '../../../../ir/nodes.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { addLet, addPick } from '../lowering.ts';
import type { Lowering } from '../lowering.ts';
import type { RawAdversarial } from '../schema/phases.ts';
import { HISTORY, PARTIAL, SAID, TURN, set } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';

const ARTIFACT = 'artifact';
const NOTES = 'notes';

type Stage = RawAdversarial['Stages'][number];

export function lowerAdversarial(l: Lowering, raw: RawAdversarial): NodeId {
  const { builder } = l;
  const partial = builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: ARTIFACT });
  const whole = builder.end({ state: 'completed', code: 'SUCCESS', output: ARTIFACT });
  let next = addPick(l, 'adversarial.end', 'adversarial', [{ when: `${PARTIAL} == true`, to: partial }], whole);
  for (const [index, stage] of [...raw.Stages.entries()].reverse()) next = addStage(l, raw, stage, index, next);
  return next;
}

function addStage(
  l: Lowering,
  { Rounds, PassKeyword }: RawAdversarial,
  { Generator, Critic, Label }: Stage,
  index: number,
  next: NodeId,
): NodeId {
  const { builder } = l;
  const label = Label ?? `${Generator} → ${Critic}`;
  const hint = `stage${index}`;
  const generate = builder.fresh(`${hint}.generate`);
  const item = {
    author: quote(Generator),
    role: quote('assistant'),
    content: ARTIFACT,
    turn: TURN,
    label: quote(`[${label}]`),
  };
  const promote = addLet(
    l,
    `${hint}.promote`,
    label,
    [{ slot: HISTORY, mode: 'append', value: item }, set(NOTES, '[]')],
    next,
  );
  const timeout = addLet(l, `${hint}.exhausted`, label, [set(PARTIAL, 'true')], promote);
  const over = Rounds === 1 ? timeout : addRevision(l, hint, label, Generator, Critic, Rounds, generate, timeout);
  const judged = addPick(
    l,
    `${hint}.judged`,
    label,
    [{ when: `size(alone(${SAID}, [${quote(PassKeyword)}])) > 0`, to: promote }],
    over,
  );
  // The firewall: the critic is given the artifact, and nothing else there is to give.
  const critique = addTeamTurn(l, {
    agent: Critic,
    hint: `${hint}.critique`,
    origin: Critic,
    enters: Critic,
    input: { prompt: ARTIFACT },
    shared: false,
    visitsMax: Rounds,
    next: judged,
  });
  const made = addLet(l, `${hint}.made`, label, [set(ARTIFACT, SAID)], critique);
  addTeamTurn(l, {
    agent: Generator,
    hint: `${hint}.generate`,
    origin: Generator,
    enters: Generator,
    begin: generate,
    input: { history: HISTORY, notes: NOTES },
    shared: false,
    visitsMax: Rounds,
    next: made,
  });
  return addLet(l, `${hint}.start`, label, [set(NOTES, '[]')], generate);
}

/** One round fewer than there are critiques: the last artifact is one that somebody has looked at. */
function addRevision(
  l: Lowering,
  hint: string,
  label: string,
  generator: string,
  critic: string,
  rounds: number,
  generate: NodeId,
  over: NodeId,
): NodeId {
  const meter = l.builder.meter(`revisions:${hint}`, {
    unit: 'visits',
    max: rounds - 1,
    over,
    label: `Rounds of ${label}`,
  });
  const notes: readonly Write[] = [
    set(NOTES, '[]'),
    { slot: NOTES, mode: 'append', value: { author: quote(generator), role: quote('assistant'), content: ARTIFACT } },
    {
      slot: NOTES,
      mode: 'append',
      value: {
        author: quote(critic),
        role: quote('user'),
        content: SAID,
        label: quote('[Critique] Address every point, and give the whole artifact again.'),
      },
    },
  ];
  return addLet(l, `${hint}.revise`, label, notes, generate, [meter]);
}
