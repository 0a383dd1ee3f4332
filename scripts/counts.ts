/** How many tests passed and failed, from vitest's JSON report. A test that says why it cannot run here is neither. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** One line for each that did not pass, those that could not run included: nothing is left out in silence. */
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
  let skipped = 0;
  const complaints: string[] = [];
  for (const { name, status, message, assertionResults } of report?.testResults ?? []) {
    const before = complaints.length;
    for (const test of assertionResults) {
      if (test.status === 'passed') passed += 1;
      else if (test.status !== 'failed') skipped += 1;
      if (test.status !== 'passed') complaints.push(`${test.status}: ${name}: ${test.fullName}`);
    }
    if (status === 'failed' && complaints.length === before)
      complaints.push(`${status}: ${name}: ${message ?? 'could not be loaded'}`);
  }
  if (report === null) complaints.push('failed: vitest wrote no report');
  else if (passed === 0) complaints.push('failed: vitest found no tests');
  else if (!ok && complaints.length === skipped) complaints.push('failed: an error outside of any test (see above)');
  return { passed, failed: complaints.length - skipped, complaints };
}
