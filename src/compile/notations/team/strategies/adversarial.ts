/**
 * `adversarial`: in every stage a generator makes an artifact and a critic reviews it, seeing only the artifact. An approved
 * artifact, or the last reviewed one when the rounds are used up, is promoted to the next stage.
 */
import type * as z from 'zod';
import type { NodeId, Write } from '../../../../ir/nodes.ts';
import { fault, int, list, name, phrase, record } from '../../../document/shape/fields.ts';
import { quote } from '../../../expressions/cel-text.ts';
import { isPoison } from '../../../document/shape/poison.ts';
import type { Path } from '../../../source/located.ts';
import { END, START, agentShape, edgeShape } from '../drawing.ts';
import type { Drawing } from '../drawing.ts';
import type { Lowering } from '../lowering.ts';
import type { Reading } from '../model.ts';
import { set } from '../../../lower/kit.ts';
import { HISTORY, PARTIAL, SAID, TURN } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';
import { lacking, strategy } from './strategy.ts';

const ARTIFACT = 'artifact';
const NOTES = 'notes';

const stage = record(() => ({ Generator: name(), Critic: name(), Label: name().optional() }));
const schema = record(() => ({
  Stages: list(stage, { min: 1, few: fault('bad-value', 'an adversarial team needs at least one stage') }),
  Rounds: int({ min: 1 }).default(3).describe('The most critiques of each artifact.'),
  PassKeyword: phrase().default('APPROVED').describe('The critic writes it alone on a line to approve the artifact.'),
}));
type Stage = z.output<typeof stage>;
type RawAdversarial = z.output<typeof schema>;

export const adversarial = strategy({
  type: 'adversarial',
  fields: () => ({ Adversarial: schema.optional() }),
  endsItself: true,
  read({ Adversarial: raw }, reading) {
    if (raw === undefined) return lacking(reading, 'adversarial', 'Adversarial');
    for (const [index, each] of raw.Stages.entries())
      checkStage(each, ['Selection', 'Adversarial', 'Stages', index], reading);
    return raw;
  },
  turnsMax: ({ Rounds }) => Rounds,
  lower: lowerAdversarial,
  draw,
});

function checkStage({ Generator, Critic }: Stage, path: Path, reading: Reading): void {
  reading.agent(Generator, [...path, 'Generator']);
  reading.agent(Critic, [...path, 'Critic']);
  if (Generator === Critic && !isPoison(Critic))
    reading.report.error('same-role', reading.at(...path, 'Critic'), `\`${Critic}\` would criticise its own work`, {
      help: 'Name another agent as `Critic`.',
    });
}

function lowerAdversarial(l: Lowering, raw: RawAdversarial): NodeId {
  const { builder } = l;
  const partial = builder.end({ state: 'completed', code: 'PARTIAL_SUCCESS', output: ARTIFACT });
  const whole = builder.end({ state: 'completed', code: 'SUCCESS', output: ARTIFACT });
  let next = l.kit.pick(
    { hint: 'adversarial.end', origin: 'adversarial' },
    [{ when: `${PARTIAL} == true`, to: partial }],
    whole,
  );
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
  const promote = l.kit.set(
    { hint: `${hint}.promote`, origin: label },
    [{ slot: HISTORY, mode: 'append', value: item }, set(NOTES, '[]')],
    next,
  );
  const timeout = l.kit.set({ hint: `${hint}.exhausted`, origin: label }, [set(PARTIAL, 'true')], promote);
  const over = Rounds === 1 ? timeout : addRevision(l, hint, label, Generator, Critic, Rounds, generate, timeout);
  const judged = l.kit.pick(
    { hint: `${hint}.judged`, origin: label },
    [{ when: `size(alone(${SAID}, [${quote(PassKeyword)}])) > 0`, to: promote }],
    over,
  );
  // The context firewall: the critic gets only the artifact.
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
  const made = l.kit.set({ hint: `${hint}.made`, origin: label }, [set(ARTIFACT, SAID)], critique);
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
  return l.kit.set({ hint: `${hint}.start`, origin: label }, [set(NOTES, '[]')], generate);
}

/** There is one revision fewer than critiques, so the promoted artifact was always reviewed. */
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
  return l.kit.set({ hint: `${hint}.revise`, origin: label, charges: [meter] }, notes, generate);
}

function draw(raw: RawAdversarial): Drawing {
  const stages = raw.Stages.map(({ Generator, Critic, Label }, index) => ({
    generate: `generate-${index}`,
    criticise: `criticise-${index}`,
    Generator,
    Critic,
    Label: Label ?? null,
  }));
  return {
    nodes: [
      START,
      ...stages.flatMap(({ generate, criticise, Generator, Critic, Label }) => [
        agentShape(generate, Generator, Generator, Label),
        agentShape(criticise, Critic, Critic, Label),
      ]),
      END,
    ],
    edges: [
      edgeShape(START.id, stages[0]?.generate ?? END.id, null),
      ...stages.flatMap(({ generate, criticise }, index) => [
        edgeShape(generate, criticise, null),
        edgeShape(criticise, generate, 'revise', true),
        edgeShape(criticise, stages[index + 1]?.generate ?? END.id, raw.PassKeyword),
      ]),
    ],
    cycles: stages.map(({ generate, criticise }) => ({ nodes: [generate, criticise], bound: `Rounds: ${raw.Rounds}` })),
  };
}
