/**
 * The order of test files: those that take longest come first, so that no worker is left with one of them at the end. A
 * checkout without records of earlier runs would start with the largest files instead.
 */
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const SLOWEST = [
  'loop/airline',
  'policy/agentdojo',
  'crash/rivals',
  'tools/mcp-lies',
  'chaos/chaos',
  'tools/mcp-reference',
  'dialects/team',
  'cli/suites',
  'cli/suite-rules',
  'crash/kill',
  'package/create',
  'tools/code',
  'crash/teams',
  'evaluate/budget-stress',
  'crash/shutdown',
  'tidy/worked-examples',
  'pii/flow',
  'tools/mcp',
  'tools/mcp-guide',
  'tidy/docs-typescript',
  'package/package',
  'differential/documents',
  'cli/damaged-runs',
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
