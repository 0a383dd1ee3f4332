/** Before a run is started: is there a model, a provider and a key for everything that it may come to ask? */
import type { CompiledFlow, Node } from '../../ir/nodes.ts';
import { demandKey, targetOf } from './target.ts';
import type { TargetOptions } from './target.ts';

/** Throws a SluiceError that names the first thing that is missing. */
export function demandModels(flow: CompiledFlow, options: TargetOptions): void {
  for (const node of Object.values<Node>(flow.nodes)) {
    if (node.op !== 'do' || node.effect.kind !== 'model') continue;
    const { agent, fallback = [] } = node.effect;
    for (const standIn of [undefined, ...fallback]) demandModel(flow, agent, standIn, options);
  }
}

/** The same for one call. */
export function demandModel(
  flow: CompiledFlow,
  agent: string,
  standIn: string | undefined,
  options: TargetOptions,
): void {
  demandKey(targetOf(flow, agent, standIn, options));
}
