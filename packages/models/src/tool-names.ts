/** The tools that are offered to a model, under names that every provider accepts. */
import type { JSONSchema7, LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { AgentDef, CompiledFlow } from '@sluice-internal/kernel/ir';
import { isRecord } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import type { Message } from '@sluice-internal/platform';

export interface Offer {
  readonly tools: LanguageModelV4FunctionTool[];
  /** The name of a tool for the provider. */
  sent(name: string): string;
  /** The tool behind a name that the model used. An unknown name is returned as it is. */
  original(name: string): string;
  /** A message with the names of tools for the provider, in the text of the engine. Data stays unchanged. */
  renamed(role: Message['role'], content: string): string;
}

export function offerTools(flow: CompiledFlow, agent: AgentDef): Offer {
  const sent = new Map<string, string>();
  const original = new Map<string, string>();
  const tools: LanguageModelV4FunctionTool[] = [];
  for (const name of agent.tools) {
    const tool = flow.tools[name];
    if (tool === undefined || sent.has(name)) continue;
    const safe = unused(safeName(name), original);
    sent.set(name, safe);
    original.set(safe, name);
    tools.push({ type: 'function', name: safe, description: tool.description, inputSchema: objectSchema(tool.input) });
  }
  return {
    tools,
    sent: (name) => sent.get(name) ?? safeName(name),
    original: (name) => original.get(name) ?? name,
    renamed: renamer([...sent].filter(([name, safe]) => name !== safe)),
  };
}

/** A message of the engine about a call that was not made, or that failed. */
const ENGINE_NOTE = /^\[[A-Z][A-Z ]*\]/;

/**
 * In a note of the engine, every mention counts. In a result, only the mark with the source of the data. Other
 * messages can hold any data, so only the forms count in which the engine names tools: in backticks, as `tool` of a step,
 * and at the start of an observation.
 */
function renamer(names: readonly (readonly [name: string, safe: string])[]): Offer['renamed'] {
  const rules = names.map(([name, safe]) => {
    const text = name.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
    return {
      safe,
      fence: new RegExp(String.raw`(?<=^<data from=")${text}(?= \()`, 'g'),
      any: new RegExp(String.raw`(?<![\w.-])${text}(?![\w-]|\.\w)`, 'g'),
      known: new RegExp(
        String.raw`(?<=\`)${text}(?=\`)|(?<="tool":\s?")${text}(?=")|(?<=^\[[\w.-]+\] )${text}(?= )`,
        'gm',
      ),
    };
  });
  return (role, content) => {
    if (role === 'system' || rules.length === 0) return content;
    const form = role === 'user' ? 'known' : ENGINE_NOTE.test(content) ? 'any' : 'fence';
    return rules.reduce((text, rule) => text.replaceAll(rule[form], rule.safe), content);
  };
}

/** Most providers allow no dots in names. */
function safeName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 60);
  return /^[A-Za-z_]/.test(safe) ? safe : `_${safe}`;
}

function unused(name: string, taken: ReadonlyMap<string, string>): string {
  let free = name;
  for (let count = 2; taken.has(free); count++) free = `${name}_${count}`;
  return free;
}

/** Providers need an object schema. A tool without a schema takes any object. */
function objectSchema(schema: Json): JSONSchema7 {
  if (!isRecord(schema)) return { type: 'object', properties: {}, additionalProperties: true };
  return { type: 'object', properties: {}, ...(schema as JSONSchema7) };
}
