/** The nodes whose kubelet is down: it reports, starts and stops nothing. */
export class DownNodes {
  readonly #names = new Set<string>();
  readonly #listeners: ((name: string) => void)[] = [];

  has(name: string): boolean {
    return this.#names.has(name);
  }

  add(name: string): void {
    this.#names.add(name);
  }

  remove(name: string): void {
    if (!this.#names.delete(name)) return;
    for (const tell of this.#listeners) tell(name);
  }

  onUp(listener: (name: string) => void): void {
    this.#listeners.push(listener);
  }
}
