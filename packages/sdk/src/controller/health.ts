/** Health checks by name, answered in the form of Kubernetes' own `/healthz` and `/readyz`. */
export type HealthCheck = () => void | Promise<void>;

export interface HealthReport {
  /** For the HTTP status: 200 or 500. */
  readonly isHealthy: boolean;
  readonly text: string;
}

export class HealthChecks {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #onFailure: (name: string, error: unknown) => void;

  /** `onFailure` gets the reasons, for a log. */
  constructor(onFailure: (name: string, error: unknown) => void = () => {}) {
    this.#onFailure = onFailure;
  }

  /** A check throws when something is wrong; it must not take long. */
  add(name: string, check: HealthCheck): this {
    this.#checks.set(name, check);
    return this;
  }

  /** `ok`, or the list of checks as soon as one fails. Reasons are left out: whoever asks need not be trusted. */
  async report({ verbose = false }: { readonly verbose?: boolean } = {}): Promise<HealthReport> {
    let isHealthy = true;
    let text = "";
    for (const [name, check] of this.#checks) {
      try {
        await check();
        text += `[+]${name} ok\n`;
      } catch (error) {
        this.#onFailure(name, error);
        isHealthy = false;
        text += `[-]${name} failed: reason withheld\n`;
      }
    }
    if (isHealthy && !verbose) return { isHealthy, text: "ok" };
    return {
      isHealthy,
      text: `${text}${isHealthy ? "healthz check passed" : "healthz check failed"}\n`,
    };
  }
}
