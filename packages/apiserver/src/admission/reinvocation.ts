/**
 * Reinvocation: the webhooks and policies that are called a second time, because they request it
 * and a later one changed the object.
 */
export class Reinvocation<Member> {
  /** Members that were called since the last change, and permit a reinvocation. */
  #invoked = new Set<Member>();
  readonly #toReinvoke = new Set<Member>();
  #isNeeded = false;
  #round = 0;

  get round(): number {
    return this.#round;
  }

  /** Whether a member is to be called in another round. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  startReinvocation(): void {
    this.#round++;
    this.#isNeeded = false;
  }

  isDue(member: Member): boolean {
    return this.#round === 0 || this.#toReinvoke.has(member);
  }

  /** Notes that a member changed the object after the previous ones were called. */
  noteChange(): void {
    for (const member of this.#invoked) this.#toReinvoke.add(member);
    this.#invoked = new Set();
    this.#isNeeded = true;
  }

  noteInvoked(member: Member): void {
    this.#invoked.add(member);
  }
}
