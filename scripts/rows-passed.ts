/** Which rows of the specification no test that passed has in its name, from vitest's JSON report. */
interface Named {
  readonly testResults: readonly {
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export function rowsNotPassed(report: Named | null, rows: readonly string[]): readonly string[] {
  const passed = new Set(
    (report?.testResults ?? []).flatMap(({ assertionResults }) =>
      assertionResults
        .filter(({ status }) => status === 'passed')
        .flatMap(({ fullName }) => [...fullName.matchAll(/§([\w/-]+)/g)].map(([, row]) => row as string)),
    ),
  );
  return rows.filter((row) => !passed.has(row));
}
