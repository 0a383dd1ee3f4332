/** Names of a statement that lie in the schema of the store. */

/** `@runs` is the table of the schema. */
export function inSchema(sql: string, schema: string): string {
  return sql.replaceAll(/@([a-z_]+)/g, (_, name: string) => `"${schema}".${name}`);
}
