/** Changes of a fork other than slots: the instructions and models of agents, and the work directory of its tools. */
import { present } from '@sluice-internal/kernel/expr';
import { modelTable } from '@sluice-internal/compile/document';
import type { ModelEntry } from '@sluice-internal/compile/document';
import { didYouMean } from '@sluice-internal/compile/source';
import { seal } from '@sluice-internal/compile/prove';
import { priceOf } from '@sluice-internal/models';
import { copyFiles } from '@sluice-internal/platform';
import type { AgentDef, CompiledFlow, RunId } from '@sluice-internal/kernel/ir';
import { SluiceError, newRunId } from '@sluice-internal/engine/ports';
import type { AttachmentStore, Engine, ForkOptions, Store } from '@sluice-internal/engine/ports';
import { readRun } from '@sluice-internal/engine/journal';
import { hash } from 'node:crypto';

/**
 * New instructions or another model for an agent of a fork.
 * @example
 * const edit: AgentEdit = { model: 'openai/gpt-5-mini' };
 */
export interface AgentEdit {
  readonly instructions?: string;
  /** An alias of the document, or `provider/model`. */
  readonly model?: string;
}

/**
 * Changes of a fork.
 * @example
 * const edits = (given: ForkEdits): ForkEdits => ({ ...given, agents: { triage: { instructions: 'Be strict.' } } });
 */
export interface ForkEdits extends Omit<ForkOptions, 'flow' | 'origin' | 'agents'> {
  /** New instructions and models, by agent. They apply to calls after the event. */
  readonly agents?: { readonly [agent: string]: AgentEdit };
  /** Content hashes of changed code that the operator accepts. */
  readonly modules?: { readonly [file: string]: string };
}

/** Forks a run of a store. The new run gets the attachments and a copy of the work folder of its parent. */
export async function fork(
  engine: Engine,
  store: Store,
  parent: RunId,
  edits: ForkEdits & { readonly attachments?: AttachmentStore | undefined },
): Promise<RunId> {
  const { agents = {}, modules, attachments, run = newRunId(), ...rest } = edits;
  const { program, state } = await readRun(store.journal, parent);
  const flow = editAgents(program.flow, agents);
  await engine.fork(parent, {
    ...rest,
    run,
    ...(flow === program.flow ? {} : { flow, agents }),
    ...(modules === undefined ? {} : { origin: { pins: { modules } } }),
    beforeStart: () => copyFiles(state.origin.pins, attachments, parent, run),
  });
  return run;
}

/** The flow with other agents, under its own hash. Throws if an agent or a model is unknown. */
function editAgents(flow: CompiledFlow, edits: { readonly [agent: string]: AgentEdit }): CompiledFlow {
  if (Object.keys(edits).length === 0) return flow;
  const table = modelTable(flow.models as unknown as { readonly [alias: string]: ModelEntry }, { priceOf });
  const agents: { [id: string]: AgentDef } = { ...flow.agents };
  for (const [given, { instructions, model }] of Object.entries(edits)) {
    const agent = agentNamed(flow, given);
    if (model !== undefined && table.find(model) === undefined)
      throw new SluiceError(
        'no-model',
        `\`${model}\` is neither a model of the document nor \`provider/model\``,
        'Write it as openai/gpt-5-mini.',
      );
    agents[agent.id] = { ...agent, ...present({ instructions, model }) };
  }
  const { hash: _, ...body } = flow;
  const models = { ...flow.models, ...table.usedBy(Object.values(agents)) };
  return seal({ ...body, agents, models }, (text) => hash('sha256', text, 'hex'));
}

function agentNamed({ agents }: CompiledFlow, given: string): AgentDef {
  const found = Object.hasOwn(agents, given) ? agents[given] : Object.values(agents).find(({ name }) => name === given);
  if (found !== undefined) return found;
  const known = Object.keys(agents);
  const help = didYouMean(given, known, `The agents: ${known.join(', ')}.`);
  throw new SluiceError('bad-fork', `there is no agent \`${given}\``, help);
}
