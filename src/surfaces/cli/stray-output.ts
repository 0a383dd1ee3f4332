/**
 * Modules of the user's own run in this process and may print. Standard output is for results alone, so whatever is not
 * written through the screen goes to standard error.
 */
export function divertStrayOutput(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}
