/** How many tests passed and failed, from vitest's JSON report. Whatever did not pass is a failure, skipped tests too. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** One line for each that did not pass. */
  readonly complaints: readonly string[];
}

interface VitestReport {
  readonly success: boolean;
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

/** `ok` is how vitest itself ended: it also notices what belongs to no test, such as a rejection that nobody caught. */
export function countTests(report: VitestReport | null, ok: boolean): Counts {
  let passed = 0;
  const complaints: string[] = [];
  for (const { name, status, message, assertionResults } of report?.testResults ?? []) {
    const before = complaints.length;
    for (const test of assertionResults) {
      if (test.status === 'passed') passed += 1;
      else complaints.push(`${test.status}: ${name}: ${test.fullName}`);
    }
    if (status !== 'passed' && complaints.length === before) complaints.push(`${status}: ${name}: ${message ?? 'could not be loaded'}`);
  }
  if (report === null) complaints.push('failed: vitest wrote no report');
  else if (passed === 0) complaints.push('failed: vitest found no tests');
  else if (!ok && complaints.length === 0) complaints.push('failed: an error outside of any test (see above)');
  return { passed, failed: complaints.length, complaints };
}
