/** The model, address and key of a call, and the error if one is missing. */
import { describe, expect, test } from 'vitest';
import type { CompiledFlow } from '@sluice-internal/kernel/ir';
import { targetOf } from '@sluice-internal/models';
import { callsOf } from '../../../library/src/host/world.ts';
import { worldBeside } from '../../../library/src/host/world-beside.ts';
import type { Env } from '../../src/target.ts';
import { flowOf } from './call.ts';

const at = (model: string | null, models: CompiledFlow['models'], env: Env = {}, given?: string) =>
  targetOf(flowOf({ models, agent: { model } }), 'writer', undefined, {
    env,
    ...(given === undefined ? {} : { model: given }),
  });

describe('the model', () => {
  test('by alias, by its own name, by a name that tells the provider, by default', () => {
    const models = {
      fast: { provider: 'anthropic', model: 'claude-x' },
      '': { provider: 'google', model: 'gemini-x' },
    };
    expect(at('fast', models)).toMatchObject({ name: 'anthropic/claude-x', provider: 'anthropic' });
    expect(at('openrouter/openai/gpt-4o', models)).toMatchObject({ provider: 'openrouter', model: 'openai/gpt-4o' });
    expect(at('gpt-4o', models)).toMatchObject({ name: 'openai/gpt-4o' });
    expect(at(null, models)).toMatchObject({ name: 'google/gemini-x' });
    expect(at(null, models, {}, 'openai/gpt-4o')).toMatchObject({ name: 'openai/gpt-4o' });
    expect(at(null, models, {}, 'fast')).toMatchObject({ name: 'anthropic/claude-x' });
    expect(at('fast', models, {}, 'openai/gpt-4o')).toMatchObject({ name: 'anthropic/claude-x' });
  });

  test('none, or one that no provider is known for', () => {
    expect(() => at(null, {})).toThrow(/the agent `writer` has no model/);
    for (const name of ['mystery', 'constructor', '__proto__']) expect(() => at(name, {})).toThrow(/has no provider/);
    expect(() => at('mystery/x', {})).toThrow(/the provider `mystery` of the model `x` is unknown/);
  });
});

describe('the address', () => {
  test('of the model, of the environment, of the provider; a bare host gets the usual path', () => {
    const env = { OPENAI_BASE_URL: 'http://proxy:1/openai/', ANTHROPIC_BASE_URL: 'http://proxy:2' };
    expect(at('openai/x', {}, env).baseUrl).toBe('http://proxy:1/openai/');
    expect(at('anthropic/x', {}, env).baseUrl).toBe('http://proxy:2/v1');
    expect(at('google/x', {}, env).baseUrl).toBeUndefined();
    expect(at('ollama/x', {}).baseUrl).toBe('http://localhost:11434/v1');
    expect(at('m', { m: { provider: 'in-house', model: 'x', base_url: 'http://gpu:8000' } })).toMatchObject({
      baseUrl: 'http://gpu:8000/v1',
      how: { protocol: 'compatible' },
    });
    expect(at('m', { m: { provider: 'google', model: 'x', base_url: 'http://g/' } }).baseUrl).toBe('http://g/v1beta');
  });
});

test('an address with a password is refused, and the error does not repeat it', () => {
  const address = 'http://user:hunter2hunter2@proxy/v1';
  const given = [{ m: { provider: 'openai', model: 'x', base_url: address } }, {}] as const;
  for (const models of given) {
    const named = (): unknown => at('m' in models ? 'm' : 'openai/x', models, { OPENAI_BASE_URL: address });
    expect(named).toThrow('the address of the model `openai/x` has a user name or a password');
    expect(named).not.toThrow('hunter2');
  }
});

describe('the key', () => {
  const demand = (models: CompiledFlow['models'], env: Env, fallback?: string[]) => {
    const flow = flowOf({ models });
    const effect = {
      kind: 'model',
      agent: 'writer',
      input: {},
      reserve: {},
    };
    const retry = fallback === undefined ? {} : { fallback: { targets: fallback, on: ['transient'] } };
    const calling = { ...flow, nodes: { n: { op: 'do', effect, retry } } } as unknown as CompiledFlow;
    return () => worldBeside(undefined, { models: { env } }).world.require(calling, callsOf(calling));
  };

  test('is asked for by the name of its variable before anything runs', () => {
    expect(demand({ m: { provider: 'openai', model: 'x' } }, {})).toThrow(
      'the model `openai/x` needs a key, and `OPENAI_API_KEY` is not set',
    );
    expect(demand({ m: { provider: 'openai', model: 'x' } }, { OPENAI_API_KEY: '' })).toThrow('`OPENAI_API_KEY`');
    expect(demand({ m: { provider: 'openai', model: 'x', api_key_env: 'TEAM_KEY' } }, { OPENAI_API_KEY: 'k' })).toThrow(
      '`TEAM_KEY`',
    );
    expect(demand({ m: { provider: 'google', model: 'x' } }, { GOOGLE_API_KEY: 'k' })).not.toThrow();
    expect(demand({ m: { provider: 'ollama', model: 'x' } }, {})).not.toThrow();
  });

  test('of a model that only stands in is asked for as well', () => {
    const models = { m: { provider: 'ollama', model: 'x' }, spare: { provider: 'anthropic', model: 'y' } };
    expect(demand(models, {}, ['spare'])).toThrow('`ANTHROPIC_API_KEY`');
    expect(demand(models, { ANTHROPIC_API_KEY: 'k' }, ['spare'])).not.toThrow();
  });
});
