/** Fields whose names become the same keep their values. */
import { expect, test } from 'vitest';
import { mapTexts } from '@sluice-internal/kernel/expr';

test('two names that become the same are numbered, and no field is lost', () => {
  const typeOnly = (text: string): string => text.replace(/\[PII_EMAIL_\d+\]/, '[EMAIL]');
  expect(
    mapTexts(
      { '[PII_EMAIL_001]': 'paid', '[PII_EMAIL_002]': 'open', total: 2, list: [{ '[PII_EMAIL_001]': 1 }] },
      typeOnly,
      typeOnly,
    ),
  ).toEqual({ '[EMAIL]': 'paid', '[EMAIL] (2)': 'open', total: 2, list: [{ '[EMAIL]': 1 }] });
});

test('the cost of equal names grows with their number, not with its square', () => {
  const emails = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`a${index}@b.test`, index]));
  const hidden = mapTexts(
    emails,
    (text) => text,
    () => '[EMAIL]',
  );
  expect(Object.keys(hidden as object)).toHaveLength(50_000);
  expect(hidden).toMatchObject({ '[EMAIL]': 0, '[EMAIL] (2)': 1, '[EMAIL] (50000)': 49_999 });
});
