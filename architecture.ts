/**
 * The walls of the project: each folder of the packages, and what it may import. The name of another package stands for all its
 * folders. Another package is imported by its name, such as `@sluice-internal/kernel/ir`, and never by a path.
 * `test/tidy/architecture.test.ts` compares this table with the imports.
 */
export const MAY_IMPORT: { readonly [folder: string]: readonly string[] } = {
  'kernel/expr': [],
  'kernel/ir': ['kernel/expr'],
  'kernel/catalog': ['kernel/expr', 'kernel/ir'],
  'kernel/core': ['kernel/expr', 'kernel/ir'],

  wire: ['kernel'],
  controls: ['kernel'],

  'compile/source': ['kernel'],
  'compile/expressions': ['kernel', 'compile/source'],
  'compile/document': ['kernel', 'compile/source', 'compile/expressions'],
  'compile/graph': ['kernel'],
  'compile/lower': [
    ...['kernel', 'controls', 'compile/source', 'compile/expressions'],
    ...['compile/document', 'compile/graph'],
  ],
  'compile/prove': ['kernel', 'compile/source', 'compile/document', 'compile/graph', 'compile/lower'],
  'compile/picture': ['compile/graph'],
  'compile/rules': [
    'kernel',
    'controls',
    'compile/source',
    'compile/expressions',
    'compile/document',
    'compile/lower',
    'compile/picture',
  ],

  'notations/flow': ['kernel', 'compile'],
  'notations/workflow': ['kernel', 'compile'],
  'notations/team': ['kernel', 'compile'],
  'notations/staged': ['kernel', 'compile'],
  'notations/loop': ['kernel', 'compile'],
  'notations/driver': [
    ...['kernel', 'compile'],
    ...['notations/flow', 'notations/workflow', 'notations/team', 'notations/staged', 'notations/loop'],
  ],

  'engine/ports': ['kernel', 'wire'],
  'engine/journal': ['kernel', 'wire', 'engine/ports'],
  'engine/memory': ['kernel', 'engine/ports', 'engine/journal'],
  'engine/limits': ['kernel', 'engine/ports', 'engine/journal'],
  'engine/report': ['kernel', 'wire', 'engine/ports', 'engine/journal'],
  'engine/audit': ['kernel', 'engine/ports', 'engine/journal', 'engine/report'],
  'engine/worker': ['kernel', 'engine/ports', 'engine/journal', 'engine/limits', 'engine/report', 'engine/audit'],

  'store-sqlite': ['kernel', 'engine'],
  'store-postgres': ['kernel', 'engine', 'platform/packages'],
  'platform/code': ['kernel', 'engine/ports', 'platform/packages'],
  'platform/packages': ['engine/ports'],
  'platform/paths': ['engine/ports'],
  'platform/prompt': ['kernel'],
  'platform/responses': ['kernel'],
  'platform/secrets': ['kernel'],
  platform: [
    ...['kernel', 'engine/ports', 'platform/code', 'platform/packages'],
    ...['platform/paths', 'platform/prompt', 'platform/responses', 'platform/secrets'],
  ],
  models: ['kernel', 'engine/ports', 'platform'],
  'pii/detectors': ['kernel', 'platform'],
  pii: ['kernel', 'engine/ports', 'platform', 'pii/detectors'],
  'tools/calls': ['kernel', 'engine/ports', 'platform', 'pii'],
  'tools/mcp': ['kernel', 'engine/ports', 'platform', 'tools/calls'],
  'guard/text': ['kernel'],
  'guard/evidence': ['kernel', 'engine/ports', 'platform'],
  'guard/values': ['kernel', 'engine/ports', 'guard/text'],
  'guard/policy': ['kernel', 'controls', 'engine/ports', 'platform', 'pii', 'guard/text', 'guard/values'],

  'library/host': [
    ...['kernel', 'wire', 'compile', 'notations', 'engine', 'store-sqlite', 'store-postgres'],
    ...['platform', 'models', 'pii', 'tools', 'guard'],
  ],
  'library/define': ['kernel', 'compile', 'notations', 'engine', 'tools'],
  library: [
    ...['kernel', 'wire', 'compile', 'notations', 'engine', 'store-sqlite', 'store-postgres'],
    ...['platform', 'models', 'tools', 'guard', 'library/host', 'library/define'],
  ],
  'library/documents': [
    ...['kernel', 'wire', 'compile', 'notations', 'engine', 'platform', 'models', 'tools'],
    ...['library', 'library/host', 'library/define'],
  ],

  'testing/suite': ['engine'],
  testing: ['kernel', 'engine', 'library', 'testing/suite'],
  'evals/journal': ['kernel', 'wire', 'engine'],
  'evals/metrics': ['kernel', 'engine', 'evals/journal'],
  'evals/rehearse': ['kernel', 'compile', 'engine', 'testing'],
  'evals/suite': [
    ...['kernel', 'compile', 'notations', 'engine', 'models', 'pii', 'tools', 'library', 'testing'],
    ...['evals/journal', 'evals/metrics'],
  ],
  'evals/diagnose': ['kernel', 'engine', 'library', 'evals/journal', 'evals/suite'],
  'evals/render': ['library', 'evals/metrics', 'evals/rehearse', 'evals/suite'],

  client: ['wire', 'library/define'],
  'studio/ui': ['wire'],
  'studio/data': ['wire', 'client'],
  'studio/shell': ['studio/data', 'studio/ui'],
  'studio/audit': ['wire', 'studio/shell', 'studio/ui'],
  'studio/flows': ['wire', 'studio/data', 'studio/shell', 'studio/ui'],
  'studio/health': ['studio/data', 'studio/shell', 'studio/ui'],
  'studio/inbox': ['wire', 'client', 'studio/data', 'studio/shell', 'studio/ui'],
  'studio/question': ['wire', 'client', 'studio/data', 'studio/ui'],
  'studio/compare': ['wire', 'studio/data', 'studio/run', 'studio/runs', 'studio/shell', 'studio/ui'],
  'studio/run': ['wire', 'studio/data', 'studio/question', 'studio/shell', 'studio/ui'],
  'studio/runs': ['wire', 'studio/data', 'studio/shell', 'studio/ui'],
  studio: [
    ...['studio/audit', 'studio/compare', 'studio/data', 'studio/flows', 'studio/health', 'studio/inbox'],
    ...['studio/run', 'studio/runs', 'studio/shell', 'studio/ui'],
  ],
  'server/auth': ['kernel', 'engine'],
  'server/http': ['kernel', 'compile', 'engine', 'tools', 'library', 'server/auth'],
  'server/routes': ['kernel', 'compile', 'notations', 'platform', 'library', 'server/auth', 'server/http'],
  server: ['kernel', 'engine', 'platform', 'library', 'server/auth', 'server/http', 'server/routes'],

  'cli/table': ['kernel', 'engine', 'library'],
  'cli/templates': [],
  'cli/view': ['kernel', 'wire', 'compile', 'engine', 'library', 'cli/table'],
  'cli/session': ['kernel', 'compile', 'engine', 'platform', 'tools', 'library', 'evals', 'cli/table', 'cli/view'],
  'cli/commands': [
    ...['kernel', 'wire', 'compile', 'notations', 'engine', 'store-sqlite', 'platform', 'models', 'tools', 'guard'],
    ...['server', 'library', 'testing', 'evals', 'cli/table', 'cli/templates', 'cli/view', 'cli/session'],
  ],
  cli: ['library', 'platform', 'cli/table', 'cli/view', 'cli/session', 'cli/commands'],
};

/** Compiled without the types of Node and of the browser: no clock, no socket, no file. */
export const PURE: readonly string[] = ['kernel', 'wire', 'controls', 'compile', 'notations'];
