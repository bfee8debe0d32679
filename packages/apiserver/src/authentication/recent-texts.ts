/**
 * What was found out about a text lately, so that it is not found out again with every request: tokens are long, and come again and again.
 *
 * Texts are found by the hash that the engine has of them, which is seeded anew in every process: how long a search takes says nothing of how
 * much of a guess is right. Only what was accepted is to be kept here, so that strangers cannot push it out.
 */
export class RecentTexts<Finding> {
  readonly #findings = new Map<string, Finding>();

  get(text: string): Finding | undefined {
    return this.#findings.get(text);
  }

  keep(text: string, finding: Finding): void {
    if (this.#findings.size >= recentTextsMax) this.#findings.clear();
    this.#findings.set(text, finding);
  }

  forget(): void {
    this.#findings.clear();
  }
}

/** When there are more, all are forgotten: what is in use is soon back, and nobody keeps count for it. */
export const recentTextsMax = 1024;
