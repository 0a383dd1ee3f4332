/**
 * `adversarial`: in every stage a generator makes an artifact and a critic reviews it, seeing only the artifact. An approved
 * artifact, or the last reviewed one when the rounds are used up, is promoted to the next stage.
 */
import type * as z from 'zod';
import type { NodeId } from '@sluice-internal/kernel/ir';
import { agentName, fault, int, isPoison, list, name, phrase, record } from '@sluice-internal/compile/document';
import { quote } from '@sluice-internal/compile/expressions';
import type { Path } from '@sluice-internal/compile/source';
import { END, START, edgeShape } from '@sluice-internal/compile/picture';
import { append, set } from '@sluice-internal/compile/lower';
import { agentShape, type Drawing } from '../drawing.ts';
import { part, type Lowering, type Place } from '../lowering.ts';
import type { Reading } from '../model.ts';
import { HISTORY, PARTIAL, MESSAGE, TURN } from '../slots.ts';
import { addTeamTurn } from '../turn.ts';
import { lacking, strategy } from './strategy.ts';

const ARTIFACT = 'artifact';
const NOTES = 'notes';

const stage = record(() => ({
  Generator: agentName().describe('The agent that makes the artifact.'),
  Critic: agentName().describe('The agent that judges it.'),
  Label: name().optional().describe('The name of the stage.'),
}));
const schema = record(() => ({
  Stages: list(stage, {
    min: 1,
    few: fault('bad-value', 'an adversarial team needs at least one stage', 'Add one to `Stages`.'),
  }).describe('The stages, in order.'),
  Rounds: int({ min: 1 }).default(3).describe('How often an artifact is judged at most. Default: 3.'),
  PassKeyword: phrase().default('APPROVED').describe('The critic writes it alone on a line to approve the artifact.'),
}));
type Stage = z.output<typeof stage>;
type RawAdversarial = z.output<typeof schema>;

export const adversarial = strategy({
  type: 'adversarial',
  fields: () => ({ Adversarial: schema.optional().describe('Of `adversarial`: its stages and rounds.') }),
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
  const end = { hint: 'adversarial.end', origin: 'adversarial' };
  let next = l.kit.when(end, `${PARTIAL} == true`, partial, whole);
  for (const [index, stage] of [...raw.Stages.entries()].reverse()) next = addStage(l, raw, stage, index, next);
  return next;
}

function addStage(l: Lowering, raw: RawAdversarial, stage: Stage, index: number, next: NodeId): NodeId {
  const { Rounds, PassKeyword } = raw;
  const { Generator, Critic, Label: label = `${Generator} → ${Critic}` } = stage;
  const hint = `stage${index}`;
  const place = { hint, origin: label };
  const generate = l.builder.fresh(`${hint}.generate`);
  const item = { ...artifactOf(Generator), turn: TURN, label: quote(`[${label}]`) };
  const promote = l.kit.set(part(place, 'promote'), [append(HISTORY, item), set(NOTES, '[]')], next);
  const timeout = l.kit.set(part(place, 'exhausted'), [set(PARTIAL, 'true')], promote);
  const over = Rounds === 1 ? timeout : addRevision(l, place, stage, Rounds, generate, timeout);
  const passed = { when: `size(alone(${MESSAGE}, [${quote(PassKeyword)}])) > 0`, to: promote };
  const judged = l.kit.pick(part(place, 'judged'), [passed], over);
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
  const made = l.kit.set(part(place, 'made'), [set(ARTIFACT, MESSAGE)], critique);
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
  return l.kit.set(part(place, 'start'), [set(NOTES, '[]')], generate);
}

function artifactOf(generator: string) {
  return { author: quote(generator), role: quote('assistant'), content: ARTIFACT };
}

/** There is one revision fewer than critiques, so the promoted artifact was always reviewed. */
function addRevision(
  l: Lowering,
  place: Place,
  { Generator, Critic }: Stage,
  rounds: number,
  generate: NodeId,
  over: NodeId,
): NodeId {
  const meter = l.kit.visits(`revisions:${place.hint}`, rounds - 1, over, `Rounds of ${place.origin}`);
  const label = quote('[Critique] Address every point, and give the whole artifact again.');
  const critique = { author: quote(Critic), role: quote('user'), content: MESSAGE, label };
  const notes = [set(NOTES, '[]'), append(NOTES, artifactOf(Generator)), append(NOTES, critique)];
  return l.kit.set({ ...part(place, 'revise'), charges: [meter] }, notes, generate);
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
      edgeShape(START.id, stages[0]?.generate ?? END.id),
      ...stages.flatMap(({ generate, criticise }, index) => [
        edgeShape(generate, criticise),
        edgeShape(criticise, generate, 'revise', true),
        edgeShape(criticise, stages[index + 1]?.generate ?? END.id, raw.PassKeyword),
      ]),
    ],
    cycles: stages.map(({ generate, criticise }) => ({ nodes: [generate, criticise], bound: `Rounds: ${raw.Rounds}` })),
  };
}
