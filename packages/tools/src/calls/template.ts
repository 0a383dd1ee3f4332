/**
 * `{{name}}` in the definition of a tool: arguments by path, `result` of the call that a compensation undoes, `env` of the
 * process. Templates are expanded once, so the text of an argument is never read as a template. A value that consists of
 * one template keeps its type.
 */
import { readPath } from '@sluice-internal/kernel/core';
import { mapTexts } from '@sluice-internal/kernel/expr';
import type { Json } from '@sluice-internal/kernel/expr';
import { PerformError, fail, failureOf } from '@sluice-internal/engine/ports';
import { keysIn } from '@sluice-internal/kernel/catalog';
import { holdsSecret, redactValue, textOf } from '@sluice-internal/platform';
import type { HoldsSecret } from '@sluice-internal/platform';
import type { Args, ToolCall, ToolOptions, ToolWork } from './tool.ts';

export interface Scope {
  readonly args: Args;
  readonly result: Json;
  readonly env: { readonly [name: string]: string | undefined };
}

const PLACE = /\{\{\s*([\w.$-]+)\s*\}\}/g;

export function expandText(template: string, scope: Scope, escape: (text: string) => string = (text) => text): string {
  return template.replace(PLACE, (_, path: string) => escape(textOf(valueAt(path, scope))));
}

export function expandValue(template: Json, scope: Scope): Json {
  return mapTexts(template, (text) => {
    const whole = /^\{\{\s*([\w.$-]+)\s*\}\}$/.exec(text);
    return whole === null ? expandText(text, scope) : valueAt(whole[1] as string, scope);
  });
}

/** The names of all arguments that a template uses. */
export function argumentsIn(template: string): Set<string> {
  return new Set(
    [...template.matchAll(PLACE)].map(([, path = '']) => path.replace(/^args\./, '').split('.')[0] as string),
  );
}

/**
 * Removes the values of `{{env.NAME}}` and the keys of providers from results and failures (L10): the other side may
 * repeat a secret that it was sent, and a file may hold one. Values of fewer than eight characters are too common in ordinary text and stay.
 */
export function withoutSecrets(work: ToolWork, definition: unknown, env: NonNullable<ToolOptions['env']>): ToolWork {
  const secrets = secretsFor(definition, env);
  if (secrets.length === 0) return work;
  const clean = <Value>(value: Value): Value => redactValue(value, secrets);
  const refused: HoldsSecret = (data) => holdsSecret(data, secrets);
  return async (call): Promise<Json> => {
    try {
      const attach: ToolCall['attach'] = (source) => call.attach(source, refused);
      return clean(await work({ ...call, attach, clean, holdsSecret: refused }));
    } catch (error) {
      throw new PerformError(clean(failureOf(error)));
    }
  };
}

/** The values of `{{env.NAME}}` in a definition, and the keys of providers. */
export function secretsFor(definition: unknown, env: NonNullable<ToolOptions['env']>): readonly string[] {
  const used = environmentIn(JSON.stringify(definition) ?? '').flatMap((name) => env[name] ?? []);
  return [...new Set([...used, ...keysIn(env)])].filter((secret) => secret !== '');
}

/** The names of the environment variables that a template uses. */
export function environmentIn(template: string): readonly string[] {
  return [...template.matchAll(PLACE)].flatMap(([, path = '']) => (path.startsWith('env.') ? [path.slice(4)] : []));
}

function valueAt(path: string, { args, result, env }: Scope): Json {
  const [first = '', ...rest] = path.split('.');
  if (first === 'env') return variable(rest.join('.'), env);
  if (Object.hasOwn(args, first)) return readPath(args[first] ?? null, rest);
  if (first === 'args') return readPath(args, rest);
  if (first === 'result') return readPath(result, rest);
  return null;
}

/** A missing variable fails the call before anything is sent: a server's answer to an empty credential explains nothing. */
function variable(name: string, env: Scope['env']): string {
  const value = env[name];
  if (value === undefined) throw fail('fatal', 'NotConfiguredError', `the environment variable \`${name}\` is not set`);
  return value;
}
