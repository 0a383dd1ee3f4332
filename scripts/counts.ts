/** How many tests passed and failed, from vitest's JSON report. A test that says why it cannot run here is neither. */
export interface Counts {
  readonly passed: number;
  readonly failed: number;
  /** One line for each that did not pass, those that could not run included: nothing is left out in silence. */
  readonly complaints: readonly string[];
}

export interface VitestReport {
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

/** The files with a failed test, or that could not be loaded. */
export function failedFiles(report: VitestReport | null): readonly string[] {
  return (report?.testResults ?? []).filter(({ status }) => status === 'failed').map(({ name }) => name);
}

/** The first report with the results of a second run of some of its files, and a line for each test that only then passed. */
export function withSecondRun(
  first: VitestReport,
  second: VitestReport,
): { readonly report: VitestReport; readonly unstable: readonly string[] } {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  const unstable = first.testResults.flatMap(({ name, assertionResults }) => {
    const passedAgain = new Set(
      again
        .get(name)
        ?.assertionResults.filter(({ status }) => status === 'passed')
        .map(({ fullName }) => fullName),
    );
    return assertionResults
      .filter(({ status, fullName }) => status === 'failed' && passedAgain.has(fullName))
      .map(({ fullName }) => `unstable, passed in a second run: ${name}: ${fullName}`);
  });
  const testResults = first.testResults.map((file) => again.get(file.name) ?? file);
  return { report: { success: testResults.every(({ status }) => status === 'passed'), testResults }, unstable };
}
