/** Reads the agents of a team: model, tools, and their view of the shared history. */
import type { ToolDef } from '../../../ir/nodes.ts';
import type { Json } from '../../../expr/json.ts';
import { readModelRef } from '../../../catalog/providers.ts';
import { PLUGINS, builtinTool } from '../../../catalog/builtin-tools.ts';
import { mayDecide } from '../../document/boundary.ts';
import { defaultOutputTokens } from '../../document/definitions.ts';
import type { Definitions } from '../../document/definitions.ts';
import type { Path } from '../../source/located.ts';
import { nearest } from '../../diagnose/nearest.ts';
import { sourceOf } from './context.ts';
import type { Member, Reading } from './model.ts';
import type { RawAgent, RawModel } from './schema/agents.ts';

export const HANDOFF = 'handoff';
/** An agent with a lower `TrustScore` gets no tool that writes or uses the network. */
const TRUST_MIN = 0.6;
const OWN_TURNS = 6;
const OWN_CHARS = 8000;

export interface Members {
  readonly members: ReadonlyMap<string, Member>;
  readonly tools: { readonly [name: string]: ToolDef };
}

export function readMembers(reading: Reading, definitions: Definitions): Members {
  const members = new Map<string, Member>();
  const tools: { [name: string]: ToolDef } = {};
  for (const [alias, model] of Object.entries(reading.body.value.Models ?? {})) declareModel(definitions, alias, model);
  for (const [index, agent] of reading.body.value.Agents.entries()) {
    const granted = toolsOf(agent, index, reading, definitions);
    for (const [name, def] of granted) tools[name] = def;
    if (!members.has(agent.Name)) members.set(agent.Name, memberOf(agent, granted, reading, definitions));
    warnOfUnenforced(agent, index, reading);
  }
  return { members, tools };
}

/** The alias of the model; declares a model that is written in place. */
export function modelName(model: RawModel | undefined, definitions: Definitions): string | null {
  if (model === undefined) return null;
  if (typeof model === 'string') return model;
  declareModel(definitions, model.ModelId, model);
  return model.ModelId;
}

function declareModel(definitions: Definitions, alias: string, model: RawModel): void {
  const id = typeof model === 'string' ? model : model.ModelId;
  const settings: Partial<Exclude<RawModel, string>> = typeof model === 'string' ? {} : model;
  const ref = readModelRef(id);
  if (definitions.models.find(alias) !== undefined && typeof model === 'string') return;
  definitions.models.declare(alias, {
    provider: settings.Provider ?? ref?.provider ?? 'openai',
    model: ref?.model ?? id,
    ...(settings.Endpoint === undefined ? {} : { base_url: settings.Endpoint }),
    ...(settings.ApiKeyEnv === undefined ? {} : { api_key_env: settings.ApiKeyEnv }),
    ...(settings.Options === undefined ? {} : { options: settings.Options }),
  });
}

function memberOf(
  agent: RawAgent,
  granted: ReadonlyMap<string, ToolDef>,
  { body }: Reading,
  definitions: Definitions,
): Member {
  const tools = [...granted.keys()];
  const model = modelName(agent.Model, definitions);
  const settings = typeof agent.Model === 'object' ? agent.Model : undefined;
  return {
    name: agent.Name,
    description: agent.Description ?? '',
    tools,
    mayHandOff: tools.includes(HANDOFF) && mayDecide(definitions, agent.Name, 'escalate'),
    writes: [...granted.values()].some(({ effect }) => effect !== 'read'),
    callsMax: agent.MaxToolCallsPerTurn,
    view: viewOf(agent),
    sources:
      agent.Context === undefined
        ? null
        : agent.Context.filter(({ Source }) => !Source.startsWith('own_history')).map(sourceOf),
    def: {
      id: agent.Name,
      name: agent.Name,
      model,
      instructions: [body.value.SystemPrompt ?? '', agent.Instructions].filter((text) => text !== '').join('\n\n'),
      tools,
      output: null,
      maxOutputTokens: settings?.MaxTokens ?? defaultOutputTokens(definitions.budgets, definitions.models.find(model)),
      temperature: settings?.Temperature ?? null,
    },
  };
}

function viewOf({ ContextWindow: window, Context: sources }: RawAgent): Json {
  if (sources !== undefined) {
    const own = sources.find(({ Source }) => Source.startsWith('own_history'));
    const turns = Number(own?.Source.split(':')[1] ?? OWN_TURNS);
    return { own: true, textOnly: true, ownTurns: own === undefined ? 0 : turns, ownChars: own?.MaxChars ?? OWN_CHARS };
  }
  if (window === undefined) return null;
  const view: { [field: string]: Json } = {};
  if (window.TextOnly === true) view['textOnly'] = true;
  if (window.ExcludeAgents !== undefined) view['exclude'] = window.ExcludeAgents;
  if ((window.MaxTurnAge ?? 0) > 0) view['turnAge'] = window.MaxTurnAge ?? 0;
  if ((window.MaxTailMessages ?? 0) > 0) view['tail'] = window.MaxTailMessages ?? 0;
  if ((window.MaxToolResultChars ?? 0) > 0) view['toolChars'] = window.MaxToolResultChars ?? 0;
  if (window.ToolResultCharOverrides !== undefined) view['toolCharsBy'] = window.ToolResultCharOverrides;
  if ((window.MaxReplayChars ?? 0) > 0) view['replayChars'] = window.MaxReplayChars ?? 0;
  return Object.keys(view).length === 0 ? null : view;
}

/** A plugin grants its tools. `Plugins` may also name a tool of the document. */
function toolsOf(
  agent: RawAgent,
  index: number,
  { body, report, sections }: Reading,
  definitions: Definitions,
): ReadonlyMap<string, ToolDef> {
  const tools = new Map<string, ToolDef>();
  if (agent.FunctionChoice === 'none') return tools;
  for (const [at, plugin] of agent.Plugins.entries()) {
    const builtin = Object.hasOwn(PLUGINS, plugin) ? PLUGINS[plugin] : undefined;
    const declared = Object.hasOwn(definitions.tools, plugin) ? definitions.tools[plugin] : undefined;
    if (declared !== undefined) tools.set(plugin, declared);
    // Results of built-in tools are not checked: a script may replace them.
    else if (builtin !== undefined)
      for (const name of builtin) tools.set(name, { ...(builtinTool(name) as ToolDef), output: true });
    else if (!sections.tools.poisoned) {
      const known = [...Object.keys(PLUGINS), ...Object.keys(definitions.tools)];
      const near = nearest(plugin, known);
      report.error(
        'unknown-tool',
        body.at('Agents', index, 'Plugins', at),
        `unknown plugin \`${plugin}\` on agent \`${agent.Name}\``,
        {
          help:
            near === undefined
              ? `There are ${known.map((each) => `\`${each}\``).join(', ')}.`
              : `Did you mean \`${near}\`?`,
        },
      );
    }
  }
  if (agent.TrustScore >= TRUST_MIN) return tools;
  return new Map([...tools].filter(([name, { effect }]) => effect === 'read' && !name.startsWith('http')));
}

const UNENFORCED = [
  'Capabilities',
  'MaxInTurnContextTokens',
  'MaxInTurnToolPairs',
  'AgentFile',
  'RemoteAgent',
] as const;

function warnOfUnenforced(agent: RawAgent, index: number, { body, report }: Reading): void {
  const say = (key: string, ...path: Path): void =>
    report.warning(
      'not-enforced',
      body.key('Agents', index, ...path),
      `\`${key}\` of agent \`${agent.Name}\` is read but has no effect in this release`,
      { help: 'Do not rely on it.' },
    );
  for (const key of UNENFORCED) if (agent[key] !== undefined) say(key, key);
  if (agent.FunctionChoice === 'required') say('FunctionChoice: required', 'FunctionChoice');
  if (agent.ContextWindow?.ContextCapFraction !== undefined)
    say('ContextCapFraction', 'ContextWindow', 'ContextCapFraction');
}
