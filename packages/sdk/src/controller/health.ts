/** Named health checks, with responses in the form of Kubernetes' own `/healthz` and `/readyz`. */
export type HealthCheck = () => void | Promise<void>;

export interface HealthReport {
  /** Decides the HTTP status: 200 or 500. */
  readonly isHealthy: boolean;
  readonly text: string;
}

export interface ReportOptions {
  readonly verbose?: boolean;
  /** Checks that are skipped. */
  readonly exclude?: readonly string[];
}

export class HealthChecks {
  readonly #checks = new Map<string, HealthCheck>();
  readonly #onFailure: (name: string, error: unknown) => void;

  /** `onFailure` gets the reasons, for a log. */
  constructor(onFailure: (name: string, error: unknown) => void = () => {}) {
    this.#onFailure = onFailure;
  }

  /** A check throws when it fails; it must be fast. */
  add(name: string, check: HealthCheck): this {
    this.#checks.set(name, check);
    return this;
  }

  /**
   * `ok`, or the list of checks as soon as one fails. Reasons are omitted: the client may be
   * unauthenticated.
   */
  async report({ verbose = false, exclude = [] }: ReportOptions = {}): Promise<HealthReport> {
    let isHealthy = true;
    let text = "";
    for (const [name, check] of this.#checks) {
      if (exclude.includes(name)) text += `[+]${name} excluded: ok\n`;
      else if (await this.#passes(name, check)) text += `[+]${name} ok\n`;
      else {
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

  /** One check alone; undefined for an unknown name. */
  async reportOne(name: string): Promise<HealthReport | undefined> {
    const check = this.#checks.get(name);
    if (check === undefined) return undefined;
    const isHealthy = await this.#passes(name, check);
    return { isHealthy, text: isHealthy ? "ok" : "failed: reason withheld\n" };
  }

  async #passes(name: string, check: HealthCheck): Promise<boolean> {
    try {
      await check();
      return true;
    } catch (error) {
      this.#onFailure(name, error);
      return false;
    }
  }
}
