/** Stands in for a payment provider. A repeated call with the same key pays once. */
const paid = new Map<string, { readonly receipt: string; readonly amount: number }>();
const reversed = new Set<string>();

export async function pay(order: string, amount: number, key: string) {
  const known = paid.get(key);
  if (known !== undefined) return known;
  const receipt = { receipt: `re_${order}`, amount };
  paid.set(key, receipt);
  return receipt;
}

export async function takeBack(order: string) {
  reversed.add(order);
  return { reversed: true };
}

export function payments() {
  return { paid: [...paid.values()], reversed: [...reversed] };
}
