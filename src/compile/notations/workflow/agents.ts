/**
 * Who does a step. Agents are resolved before anything runs: by id, or by the first agent of that name. A document
 * without an `agents` section takes everybody it names as declared.
 */
import type { AgentDef } from '../../../ir/nodes.ts';
import { defaultOutputTokens, undeclaredAgent } from '../../document/definitions.ts';
import type { Report } from '../../diagnose/diagnostics.ts';
import type { ReadDocument } from '../../document/document.ts';
import type { Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import type { Sections } from '../../document/schema/schema.ts';
import type { Shaped } from '../../document/shape/shape.ts';
import { isPoisonedName } from '../../document/names.ts';
import type { RawStep, RawWorkflow } from './schema.ts';

export interface AgentRef {
  readonly by: 'name' | 'id' | 'either';
  readonly value: string;
  /** Where in the step it is written. */
  readonly path: Path;
}

/** Every way in which the step names an agent; more than one is a mistake. */
export function agentRefs(step: RawStep): readonly AgentRef[] {
  const refs: AgentRef[] = [];
  const { agent } = step;
  if (typeof agent === 'string') refs.push({ by: 'either', value: agent, path: ['agent'] });
  else if (agent !== undefined)
    for (const [key, by] of AGENT_KEYS)
      if (agent[key] !== undefined) refs.push({ by, value: agent[key], path: ['agent', key] });
  if (step.agent_name !== undefined) refs.push({ by: 'name', value: step.agent_name, path: ['agent_name'] });
  if (step.agent_id !== undefined) refs.push({ by: 'id', value: step.agent_id, path: ['agent_id'] });
  return refs;
}

export interface Registry {
  /** The id in the compiled flow, or null where nobody is meant by it, or where that cannot be told; that is then in the report. */
  resolve(ref: AgentRef, step: { readonly index: number; readonly name: string }): string | null;
  /** Agents that only the steps name. */
  readonly undeclared: ReadonlyMap<string, AgentDef>;
}

export function createRegistry(
  { sections: { value: sections, located }, names }: Pick<ReadDocument, 'sections' | 'names'>,
  body: Shaped<RawWorkflow>,
  report: Report,
): Registry {
  const declared = sections.agents?.map(({ id, name }, index) => ({
    id: id ?? name ?? '',
    name: name ?? id ?? '',
    poisoned: isPoisonedName(located('agents', index), 'name'),
  }));
  const undeclared = new Map<string, AgentDef>();
  return {
    undeclared,
    resolve(ref, step) {
      if (declared === undefined) {
        if (!undeclared.has(ref.value)) undeclared.set(ref.value, bounded(ref.value, sections));
        return ref.value;
      }
      const byName = ref.by === 'id' ? undefined : declared.find((agent) => agent.poisoned || agent.name === ref.value);
      // The agent whose name cannot be read may be the first one of that name.
      if (byName?.poisoned === true) return null;
      const found = byName ?? (ref.by === 'name' ? undefined : declared.find(({ id }) => id === ref.value));
      if (found !== undefined) return found.id;
      if (names.agents.poisoned) return null;
      report.error(
        'unknown-agent',
        body.at('steps', step.index, ...ref.path),
        `unknown agent \`${ref.value}\` on step \`${step.name}\``,
        {
          help: helpFor(ref, declared),
        },
      );
      return null;
    },
  };
}

const AGENT_KEYS = [
  ['ByName', 'name'],
  ['ById', 'id'],
  ['name', 'name'],
  ['id', 'id'],
] as const;

function helpFor(ref: AgentRef, declared: readonly { readonly id: string; readonly name: string }[]): string {
  if (ref.by === 'name' && declared.some(({ id }) => id === ref.value))
    return `An agent has this as its id: write \`agent_id: ${ref.value}\`.`;
  if (ref.by === 'id' && declared.some(({ name }) => name === ref.value))
    return `An agent has this as its name: write \`agent_name: ${ref.value}\`.`;
  const near = nearest(
    ref.value,
    declared.flatMap(({ id, name }) => (ref.by === 'id' ? [id] : ref.by === 'name' ? [name] : [name, id])),
  );
  return near === undefined ? 'Declare it under `agents`.' : `Did you mean \`${near}\`?`;
}

function bounded(name: string, { budgets }: Sections): AgentDef {
  return { ...undeclaredAgent(name), maxOutputTokens: defaultOutputTokens(budgets, undefined) };
}
