/** Who is asked a second time: whoever wants to be when a later one changed the object. */
export class Reinvocation<Member> {
  /** Asked since the last change, and willing to be asked again. */
  #asked = new Set<Member>();
  readonly #again = new Set<Member>();
  #isNeeded = false;
  #round = 0;

  get round(): number {
    return this.#round;
  }

  /** Whether somebody is to be asked in another round. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  beginAgain(): void {
    this.#round++;
    this.#isNeeded = false;
  }

  isDue(member: Member): boolean {
    return this.#round === 0 || this.#again.has(member);
  }

  /** Somebody changed the object after those before saw it. */
  noteChange(): void {
    for (const member of this.#asked) this.#again.add(member);
    this.#asked = new Set();
    this.#isNeeded = true;
  }

  noteAsked(member: Member): void {
    this.#asked.add(member);
  }
}
