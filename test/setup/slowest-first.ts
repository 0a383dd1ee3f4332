/**
 * The order of test files: those that take longest come first, so that no worker is left with one of them at the end. A
 * checkout without records of earlier runs would start with the largest files instead.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SLOWEST = [
  'package/package',
  'models/failures',
  'crash/rivals',
  'loop/airline',
  'tools/mcp-lies',
  'policy/agentdojo',
  'chaos/chaos',
  'tools/mcp-reference',
  'tidy/worked-examples',
  'crash/kill',
  'crash/teams',
  'crash/shutdown',
  'evaluate/applied-remedies',
  'protections/real-traces',
  'compile/bounds-documents',
  'loop/grounding',
  'dialects/team',
  'cli/suites',
  'cli/suite-rules',
  'tools/code',
  'tools/mcp',
  'tools/mcp-guide',
  'tidy/docs-typescript',
  'journals/sqlite-tail',
  'laws/memory',
  'models/attachments',
  'cli/printed',
  'evaluate/budget-stress',
  'simulate/simulate',
  'cli/damaged-runs',
  'dialects/golden',
  'loop/deeds',
  'cli/mcp',
  'cli/memory',
  'journals/read-only',
  'evaluate/rehearse',
  'tools/sandbox',
  'tools/shell',
  'package/start',
  'cli/fork',
  'cli/pseudo-terminal',
  'crash/grace',
  'dialects/team-examples',
  'bench/faults',
  'loop/overspend',
  'protections/hostile',
].map((name) => `/test/${name}.test.ts`);

export class SlowestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    return sorted.toSorted((a, b) => place(a) - place(b));
  }
}

function place({ moduleId }: TestSpecification): number {
  const index = SLOWEST.findIndex((name) => moduleId.endsWith(name));
  return index < 0 ? SLOWEST.length : index;
}
