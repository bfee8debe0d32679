/** The numbers of replicas that objects for single clusters ever had in the store. */
import type { Write } from "@kcp-ts/apiserver/storage";
import type { SimulatedSystem } from "./simulated-system.ts";

export class ReplicaHistory {
  readonly #counts = new Map<string, Set<number>>();

  constructor(system: SimulatedSystem) {
    const { onCommit } = system;
    system.onCommit = (write) => {
      onCommit(write);
      this.#note(write);
    };
  }

  had(tenant: string, name: string, replicas: number): boolean {
    return this.#counts.get(`${tenant}/${name}`)?.has(replicas) === true;
  }

  #note({ key, value }: Write): void {
    const parts = key.split("/");
    const name = parts.at(-1) ?? "";
    if (parts[2] !== "deployments" || !name.includes("--")) return;
    const id = `${parts.at(-3)}/${name}`;
    const counts = this.#counts.get(id) ?? new Set();
    this.#counts.set(id, counts);
    const text = value === "delete" ? "" : Buffer.from(value).toString();
    const found = /"spec":\{[^{}]*"replicas":(\d+)/.exec(text);
    counts.add(Number(found?.[1] ?? 0));
  }
}
