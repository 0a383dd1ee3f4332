/** The models of a team: written in place, or by alias under `Models`. A model in place that names an alias adds to it. */
import { readModelRef } from '@sluice-internal/kernel/catalog';
import type { AgentDef } from '@sluice-internal/kernel/ir';
import { isModelName, namesOf, replySettings, settingsOf } from '@sluice-internal/compile/document';
import type { Definitions, ModelEntry } from '@sluice-internal/compile/document';
import { textOf } from '@sluice-internal/compile/source';
import type { Path } from '@sluice-internal/compile/source';
import type { Reading } from './model.ts';
import type { RawModel } from './schema/agents.ts';

type Models = { readonly [alias: string]: RawModel } | undefined;
type Fields = Partial<Exclude<RawModel, string>>;
type CalledModel = Pick<AgentDef, 'model' | 'maxOutputTokens' | 'continuations' | 'temperature' | 'settings'>;

export function declareModels(models: Models, definitions: Definitions): void {
  for (const [alias, model] of Object.entries(models ?? {})) {
    if (typeof model === 'string' && definitions.models.find(alias) !== undefined) continue;
    const fields = typeof model === 'string' ? { ModelId: model } : model;
    definitions.models.declare(alias, entryOf(fields, definitions));
  }
}

/** Reports a name that is no alias. A team without aliases may get its models from the program that runs it. */
export function checkModels({ body, sections, report }: Reading): void {
  const { Models, Agents } = body.value;
  // At the top of a document, `Models` looks like a misspelt `models`.
  const isUnclear = sections.models.poisoned && Models === undefined;
  const aliases = namesOf([...sections.models.all, ...Object.keys(Models ?? {})], isUnclear);
  if (aliases.all.size === 0) return;
  const check = (user: string, ...path: Path): void => {
    const name = textOf(body.located(...path));
    if (name === undefined || isModelName(name, aliases)) return;
    report.error('unknown-model', body.at(...path), `unknown model \`${name}\` on ${user}`, {
      help: aliases.help(name, 'Declare it under `Models`, or write `provider/model`.'),
    });
  };
  for (const [index, { Name }] of Agents.entries()) check(`agent \`${Name}\``, 'Agents', index, 'Model');
  check('`Selection`', 'Selection', 'Model');
  check('`Magentic`', 'Selection', 'Magentic', 'Model');
}

/** The name of the model, and the settings of its calls. */
export function calledModel(model: RawModel | undefined, models: Models, definitions: Definitions): CalledModel {
  const fields = fieldsOf(model, models);
  const name =
    model === undefined || typeof model === 'string'
      ? (model ?? null)
      : definitions.models.declareVariant(model.ModelId, entryOf(model, definitions));
  const { MaxTokens, Temperature, ReasoningEffort } = fields;
  const given = { maxOutputTokens: MaxTokens, temperature: Temperature, reasoningEffort: ReasoningEffort };
  return {
    model: name,
    ...replySettings(given, definitions.budgets, definitions.models.find(name)),
    ...settingsOf({
      reasoningEffort: ReasoningEffort,
      topP: fields.TopP,
      seed: fields.Seed,
      stop: fields.Stop,
      parallelToolCalls: fields.ParallelToolCalls,
      toolChoice: undefined,
    }),
  };
}

/** The fields of the alias, and over them those that are written in place. */
function fieldsOf(model: RawModel | undefined, models: Models): Fields {
  if (model === undefined) return {};
  const alias = models?.[typeof model === 'string' ? model : model.ModelId];
  return { ...(typeof alias === 'object' ? alias : {}), ...(typeof model === 'object' ? model : {}) };
}

function entryOf(fields: Fields & { readonly ModelId: string }, definitions: Definitions): ModelEntry {
  const { Endpoint, ApiKeyEnv, ApiKeyEnvVar, Options = {} } = fields;
  const own = {
    base_url: Endpoint,
    api_key_env: ApiKeyEnv ?? ApiKeyEnvVar,
    headers: fields.Headers,
    organization: fields.Organization,
    timeout: fields.TimeoutSeconds,
    accepts: fields.Accepts,
    retries: fields.Retries,
    options: Object.keys(Options).length === 0 ? undefined : Options,
  };
  const written = Object.fromEntries(Object.entries(own).filter(([, value]) => value !== undefined));
  return { ...baseOf(fields, definitions), ...written };
}

/** The model behind an alias, or the model of that name. */
function baseOf({ ModelId, Provider }: Fields & { readonly ModelId: string }, { models }: Definitions): ModelEntry {
  const known = models.has(ModelId) ? models.find(ModelId) : undefined;
  if (known !== undefined && (Provider === undefined || Provider === known.provider)) return known;
  const ref = readModelRef(ModelId);
  return { provider: Provider ?? ref?.provider ?? 'openai', model: ref?.model ?? ModelId };
}
