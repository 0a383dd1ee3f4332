/**
 * One set of definitions for a flow and its sub-flows. An agent or a model of a sub-flow that shares its name with a different
 * one outside gets the path of the sub-flow in front. Tools keep their names, because models see them: two different tools of
 * one name are an error.
 */
import { canonical } from '@sluice-internal/kernel/expr';
import type { AgentDef } from '@sluice-internal/kernel/ir';
import { checkNarrower } from '@sluice-internal/compile/document';
import type { Definitions, ModelEntry } from '@sluice-internal/compile/document';
import type { Analysed, SubFlow } from './analyse.ts';

export interface Merged {
  readonly definitions: Definitions;
  /** The id that an agent of a flow has in the whole. */
  agentId(flow: Analysed, id: string): string;
}

export function mergeDefinitions(main: Analysed): Merged {
  const ids = new Map<Analysed, ReadonlyMap<string, string>>();
  let definitions = main.definitions;
  const visit = (flow: Analysed, prefix: string): void => {
    for (const [node, sub] of flow.subs) {
      const path = `${prefix}${node}`;
      if (!sub.foreign) ids.set(sub, ids.get(flow) ?? new Map());
      else {
        const { document, definitions: own, report } = sub;
        checkNarrower({ sections: document.sections, outer: definitions, own, report });
        const agents = importAgents(definitions, sub, path);
        ids.set(sub, agents.ids);
        definitions = withTools({ ...definitions, ...agents.definitions }, sub);
      }
      visit(sub, `${path}/`);
    }
  };
  visit(main, '');
  return { definitions, agentId: (flow, id) => ids.get(flow)?.get(id) ?? id };
}

function importAgents(outer: Definitions, sub: SubFlow, path: string) {
  const ids = new Map<string, string>();
  const agents = { ...outer.agents };
  const agentBudgets = { ...outer.agentBudgets };
  const agentBoundaries = { ...outer.agentBoundaries };
  const memory = { ...outer.memory };
  const { definitions } = sub;
  for (const id of agentsOf(sub)) {
    const def = definitions.agents[id];
    if (def === undefined || ids.has(id)) continue;
    const model = importModel(outer, definitions, def.model, path);
    const [budget, boundary] = [definitions.agentBudgets[id], definitions.agentBoundaries[id]];
    const remembers = definitions.memory[id];
    const known = agents[id];
    const isSame =
      known !== undefined &&
      same({ ...known, id }, { ...def, model }) &&
      same(agentBudgets[id], budget) &&
      same(agentBoundaries[id], boundary) &&
      same(memory[id], remembers);
    const name = known === undefined || isSame ? id : `${path}/${id}`;
    ids.set(id, name);
    agents[name] = { ...def, id: name, model } satisfies AgentDef;
    if (budget !== undefined) agentBudgets[name] = budget;
    if (boundary !== undefined) agentBoundaries[name] = boundary;
    if (remembers !== undefined) memory[name] = remembers;
  }
  return { ids, definitions: { agents, agentBudgets, agentBoundaries, memory } };
}

/** The agents that nodes of the flow name. */
function agentsOf({ flow }: Analysed): readonly string[] {
  return [...flow.nodes.values()].flatMap(({ value, facts }) => facts.lastAgent?.(value) ?? []);
}

/** The name of a model of the sub-flow in the whole; its fallback models come with it. */
function importModel(outer: Definitions, inner: Definitions, name: string | null, path: string): string | null {
  const entry = name === null ? undefined : inner.models.find(name);
  if (name === null || entry === undefined) return name;
  const known = outer.models.find(name);
  if (known !== undefined && same(known, entry)) return name;
  const given = known === undefined ? name : `${path}/${name}`;
  const fallback = entry.fallback?.map((each) => importModel(outer, inner, each, path) ?? each);
  const imported: ModelEntry = fallback === undefined ? entry : { ...entry, fallback };
  outer.models.declare(given, imported);
  return given;
}

/** The parts of a tool's declaration. */
const TOOL_PARTS = ['tools', 'toolCosts', 'toolChecks', 'toolLookups', 'toolApprovers'] as const;

function withTools(outer: Definitions, { definitions: inner, document, report }: SubFlow): Definitions {
  const kinds = [
    ['tools', 'tool', TOOL_PARTS],
    ['mcp', 'server', ['servers']],
  ] as const;
  for (const [section, noun, parts] of kinds) {
    const [first] = parts;
    const conflicts = Object.keys(inner[first]).filter(
      (name) => outer[first][name] !== undefined && parts.some((part) => !same(outer[part][name], inner[part][name])),
    );
    for (const name of conflicts) {
      const message = `the ${noun} \`${name}\` is declared in another way outside`;
      report.error('tool-conflict', document.sections.key(section, name), message, {
        help: 'Declare it the same way in both documents, or give one of the two another name.',
      });
    }
  }
  return {
    ...outer,
    tools: { ...inner.tools, ...outer.tools },
    toolCosts: { ...inner.toolCosts, ...outer.toolCosts },
    toolChecks: { ...inner.toolChecks, ...outer.toolChecks },
    toolLookups: { ...inner.toolLookups, ...outer.toolLookups },
    toolApprovals: new Set([...outer.toolApprovals, ...inner.toolApprovals]),
    toolApprovers: { ...inner.toolApprovers, ...outer.toolApprovers },
    servers: { ...inner.servers, ...outer.servers },
  };
}

function same(one: unknown, other: unknown): boolean {
  return canonical(one) === canonical(other);
}
