import { describe, expect, test } from 'vitest';
import { NOTATIONS } from '../../src/driver/registry.ts';
import { documentSchema, readDocument, toolNames } from '@sluice-internal/compile/document';
import { parseSource } from '@sluice-internal/compile/source';
import { schemaProblems } from '../../../compile/src/document/shape/schema-check.ts';
import { compileText } from './compile-text.ts';

function read(yaml: string) {
  const { doc, report } = parseSource(`${yaml}\nloop: {}\n`, 'a.yaml');
  const document = readDocument(doc!, NOTATIONS, report);
  return {
    document,
    said: report
      .list()
      .map((each) => `${each.severity === 'error' ? '' : 'warning '}${each.code} ${each.line}:${each.column}`),
  };
}

describe('sections', () => {
  test('a full document reads without a finding', () => {
    const { document, said } = read(`sluice: 1
models:
  fast: { provider: openai, model: gpt-6-mini, price: { input: 0.1, output: 0.4 }, limits: { context_tokens: 100000 }, fallback: slow }
  slow: { provider: anthropic, model: claude }
agents:
  - id: triage
    name: Triage
    description: sorts
    model: fast
    instructions: Sort it.
    tools: [http.get, files.read]
    output: { type: object, properties: { category: { enum: [refund, tech] } }, required: [category] }
    budget: { model_calls: 3 }
    max_output_tokens: 500
    temperature: 0.2
  - { name: writer, model: openai/gpt-6 }
tools:
  http.get: { effect: read, http: { method: GET, url: "https://example.org/{{path}}" }, timeout: 30, idempotent: true }
  db.wipe: { shell: "rm -r data", compensate: db.restore, approval: always, permission: admin, rate_limit: { calls: 2, per_seconds: 60 } }
  db.restore: { module: ./tools.ts#restore, verify: result.ok }
  notes.read: { mcp: files/read, cost: 0.01 }
mcp:
  files: { command: mcp-files, args: [--root, .] }
budgets: { steps: 10, cost_usd: 0.5, wall_clock_seconds: 60, side_effects: 0 }`);
    expect(said).toEqual([]);
    expect(document?.sections.value.tools['db.wipe']).toMatchObject({
      shell: { command: 'rm -r data' },
    });
    expect(document?.sections.value.agents?.[1]).toEqual({
      name: 'writer',
      model: 'openai/gpt-6',
      instructions: '',
      tools: [],
    });
  });

  test('a tool of a misspelt server suggests the server', () => {
    const { diagnostics } = compileText(
      'agents: [{ id: a, tools: [files.list_directory, files.*] }]\nmcp: { fiels: { url: "http://x" } }\nloop: { agent: a }',
    );
    const helps = diagnostics.filter(({ code }) => code === 'unknown-tool').map(({ help }) => help);
    expect(helps).toEqual(['Did you mean `fiels.list_directory`?', 'Did you mean `fiels.*`?']);
  });

  test.each([
    ['sluice: 2', ['bad-version 1:9']],
    ['budgets: { costUsd: 1 }', ['unknown-key 1:12']],
    ['agents: [{ instructions: x }]', ['missing-field 1:12']],
    ['agents: [{ id: a }, { id: a }]', ['duplicate-id 1:27']],
    ['tools: { t: { http: { url: "https://a.b", headers: { X-Key: a, x-key: b } } } }', ['duplicate-key 1:64']],
    ['mcp: { s: { url: "https://a.b", headers: { X-Key: a, x-key: b } } }', ['duplicate-key 1:54']],
    ['models: { m: { provider: openai, model: x, headers: { X-Key: a, x-key: b } } }', ['duplicate-key 1:65']],
    ['models: { a: { provider: x, model: y } }\nagents: [{ id: a, model: b }]', ['unknown-model 2:26']],
    ['models: { a: { provider: x, model: y } }\nagents: [{ id: a, model: gpt-5-mini }]', []],
    ['models: { gpt-mini: { provider: x, model: y } }\nagents: [{ id: a, model: gpt-mni }]', ['unknown-model 2:26']],
    ['models: { a: { provider: x, modle: y } }\nagents: [{ id: a, model: a }]', ['unknown-key 1:29']],
    ['agents: [{ id: a, model: anything }]', []],
    ['agents: [{ id: a, tools: [x.y] }]', ['unknown-tool 1:27']],
    ['agents: [{ id: a, tools: [files.read] }]\nmcp: { files: { url: "http://x" } }', []],
    ['tools: { a.b: { compensate: a.c } }', ['unknown-tool 1:29']],
    ['tools: { a.b: { mcp: s/t } }', ['unknown-server 1:22']],
    ['tools: { a.b: { shell: ls, code: "1" } }', ['several-implementations 1:28']],
    ['tools: { a.b: { shell: "mail {{to}}" } }', ['bad-template 1:24']],
    ['tools: { a.b: { shell: { command: "mail {{to}}" } } }', ['bad-template 1:35']],
    ['tools: { a.b: { shell: { argv: [mail, "{{to}}"], env: { TO: "{{to}}" } } } }', []],
    ['tools: { a.b: { shell: { argv: [] } } }', ['bad-value 1:32']],
    ['tools: { a.b: { shell: { cwd: x } } }', ['missing-field 1:26']],
    ['tools: { a.b: { shell: { command: ls, argv: [ls] } } }', ['several-implementations 1:26']],
    ['tools: { a.b: { input: { type: string, pattern: "^(a+)+$" } } }', []],
    ['tools: { a.b: { input: { type: string, pattern: "(?=a)b" } } }', ['bad-schema 1:49']],
    ['tools: { "a b": {} }', ['bad-value 1:10']],
    ['mcp: { s: {} }', ['missing-field 1:11']],
    ['mcp: { s: { url: "http://x", command: y } }', ['several-implementations 1:13']],
    ['mcp: { s: { url: x } }', ['bad-value 1:18']],
    ['tools: { a.b: { http: { url: notaurl } } }', ['bad-value 1:30']],
    ['tools: { a.b: { http: { url: "/x/{{y}}" } } }', ['bad-value 1:30']],
    ['tools: { a.b: { http: { url: "ftp://x" } } }', ['bad-value 1:30']],
    ['tools: { a.b: { http: { url: "https://" } } }', ['bad-value 1:30']],
    ['tools: { a.b: { http: { url: "https://{{host}}/x" } } }', []],
    ['tools: { a.b: { http: { url: "{{scheme}}://x" } } }', []],
    ['agents: [{ id: a, output: { type: objct } }]', ['bad-schema 1:35']],
    ['pii: { mode: block }', []],
    ['agnets: []', ['unknown-key 1:1']],
    ['toString: 1', ['unknown-key 1:1']],
  ])('%s', (yaml, expected) => {
    expect(read(yaml).said).toEqual(expected);
  });

  test('tool names know declared and built-in tools and those of a server, and suggest', () => {
    const { document } = read('tools: { mail.send: {} }\nmcp: { files: { url: "http://x" } }');
    const names = toolNames(document!.sections.value, document!.names);
    expect(['mail.send', 'http.get', 'files.anything', 'mail.sned'].map((name) => names.has(name))).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(names.help('mail.sned', '')).toBe('Did you mean `mail.send`?');
  });

  test('the JSON Schema for editors comes from the same definitions and is itself valid', () => {
    const schema = documentSchema([]);
    expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(Object.keys(schema['properties'] as object)).toContain('budgets');
    expect(schemaProblems(JSON.parse(JSON.stringify(schema)))).toEqual([]);
  });
});

describe('schemaProblems', () => {
  test.each([
    [{ type: 'object', properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: { type: ['string', 'null'] } } }, []],
    [{ 'x-order': 1, discriminator: 'kind' }, []],
    [{ allOf: [{ $anchor: 'here' }, { $ref: '#here' }] }, []],
    [{ type: 'strng' }, [['type']]],
    [{ propertees: {} }, [['propertees']]],
    [{ nullable: true }, [['nullable']]],
    [{ properties: { a: { minimum: 'x' } } }, [['properties', 'a', 'minimum']]],
    [{ items: { pattern: '(' } }, [['items', 'pattern']]],
    [{ patternProperties: { '[': {} } }, [['patternProperties', '[']]],
    [{ anyOf: [{}, { $ref: '#/nowhere' }] }, [['anyOf', 1, '$ref']]],
    [{ $ref: 'https://example.org/schema' }, [['$ref']]],
    [{ required: 'a', enum: 'b' }, [['required'], ['enum']]],
    [{ properties: { type: { type: 'string' }, $ref: { type: 'string' } } }, []],
  ])('%j', (schema, paths) => {
    const found = schemaProblems(schema as never).map((problem) => problem.path);
    expect(found).toHaveLength(paths.length);
    expect(found).toEqual(expect.arrayContaining(paths));
  });
});
