/** A model beside the team that chooses or coordinates. Its tools only carry its answer; nothing runs. */
import { present } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { AgentDef, Input, MeterId, NodeId } from '@sluice-internal/kernel/ir';
import { MODEL_RETRY, REPAIR_THEN_PASS, REPLY } from '@sluice-internal/compile/lower';
import { calledModel } from '../models.ts';
import { OUTPUT } from '../slots.ts';
import type { Lowering } from '../lowering.ts';
import type { Reading, Team } from '../model.ts';
import type { RawModel } from '../schema/agents.ts';

/** The agents as a list for a prompt. */
export function roster({ members }: Team): string {
  return [...members.values()]
    .map(({ name, description }) => (description === '' ? `- ${name}` : `- ${name}: ${description}`))
    .join('\n');
}

/** True if another name differs only in letter case: then only the exact name matches. */
export function hasTwin(name: string, { names }: Team): boolean {
  return names.some((other) => other !== name && other.toLowerCase() === name.toLowerCase());
}

export function chooserDef(
  team: Team,
  id: string,
  model: RawModel,
  instructions: string,
  tools: readonly string[] = [],
): AgentDef {
  return {
    id,
    name: id,
    ...calledModel(model, team.raw.Models, team.definitions),
    instructions,
    tools,
    output: null,
  };
}

/** Reports an agent that has the strategy's own name. */
export function reserve({ report, body }: Reading, team: Team, id: string): void {
  const index = team.names.indexOf(id);
  if (index >= 0)
    report.error(
      'reserved-id',
      body.at('Agents', index, 'Name'),
      `\`${id}\` cannot be the name of an agent here: the strategy \`${team.strategy}\` has a ${id} of its own`,
      { help: 'Choose another name.' },
    );
}

/** Asks the model. Its answer is in `reply`. */
export function addAsk(
  { builder, kit }: Lowering,
  {
    agent,
    input,
    next,
    readsObject = false,
    samples,
    ...step
  }: {
    readonly id?: NodeId;
    readonly agent: string;
    readonly hint: string;
    readonly input: Input;
    readonly charges?: readonly MeterId[];
    /** True if the answer is read as a JSON object. Different objects in one reply then get a repair turn. */
    readonly readsObject?: boolean;
    /** Answers of the form that is asked for. */
    readonly samples?: readonly Json[];
    readonly next: NodeId;
  },
): NodeId {
  const effect = { ...builder.model(agent, '""'), input, ...present({ samples }) };
  return kit.call(
    { origin: agent, ...step },
    {
      effect,
      ...(readsObject ? { fit: REPAIR_THEN_PASS } : {}),
      into: REPLY,
      retry: MODEL_RETRY,
      next,
      fail: builder.failedEnd(OUTPUT),
    },
  );
}
