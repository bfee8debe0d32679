/**
 * Credentials from a plugin: a command that prints an ExecCredential (client.authentication.k8s.io
 * v1 and v1beta1).
 *
 * The plugin runs when credentials are needed, have expired, or were rejected, and once for all
 * waiting requests. It never runs in a shell.
 */
import { spawn } from "node:child_process";
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, parseJson } from "@kcp-ts/machinery/json";
import type { RequestHeaders } from "../client/index.ts";
import { bearer, type ClientCertificate, type Credentials } from "./credentials.ts";
import type { ExecSettings } from "./exec-settings.ts";
import { KubeconfigError } from "./fields.ts";

export interface ExecOptions {
  readonly exec: ExecSettings;
  /** The cluster information for a plugin that requests it. */
  readonly cluster: JsonObject;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a plugin may prompt its user on this process's terminal. */
  readonly hasTerminal: boolean;
  readonly clock?: Clock | undefined;
}

interface Issued {
  readonly headers: RequestHeaders;
  readonly certificate: ClientCertificate | undefined;
  readonly expiresAtMs: number;
}

/** An ExecCredential is a few kilobytes. */
export const execOutputBytesMax = 1 << 20;
/** The timeout of a plugin without an interactive user. */
const execTimeoutMs = 60_000;
/** Credentials are renewed a little before they expire. */
const expiryMarginMs = 5000;

export class ExecCredentials implements Credentials {
  readonly #options: ExecOptions;
  readonly #clock: Clock;
  #issued: Issued | undefined;
  #running: Promise<Issued> | undefined;
  readonly #certificateListeners = new Set<() => void>();

  constructor(options: ExecOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  headers(): RequestHeaders | Promise<RequestHeaders> {
    const issued = this.#valid();
    return issued !== undefined ? issued.headers : this.#run().then(({ headers }) => headers);
  }

  async certificate(): Promise<ClientCertificate | undefined> {
    return (this.#valid() ?? (await this.#run())).certificate;
  }

  /** Concurrent rejected requests run the plugin once. */
  async refresh(): Promise<boolean> {
    await this.#run();
    return true;
  }

  /**
   * A new client certificate affects only new connections. Returns a function that unsubscribes.
   */
  onNewCertificate(listener: () => void): () => void {
    this.#certificateListeners.add(listener);
    return () => this.#certificateListeners.delete(listener);
  }

  #valid(): Issued | undefined {
    const issued = this.#issued;
    return issued !== undefined && this.#clock.now() < issued.expiresAtMs ? issued : undefined;
  }

  #run(): Promise<Issued> {
    this.#running ??= this.#issue().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #issue(): Promise<Issued> {
    const issued = readCredential(await this.#execute(), this.#options.exec.apiVersion);
    const before = this.#issued?.certificate;
    this.#issued = issued;
    if (before !== undefined && before.cert !== issued.certificate?.cert) {
      for (const listener of this.#certificateListeners) listener();
    }
    return issued;
  }

  #execute(): Promise<string> {
    const { exec, cluster, env, hasTerminal } = this.#options;
    const interactive = exec.interactiveMode !== "Never" && hasTerminal;
    if (exec.interactiveMode === "Always" && !interactive) {
      throw new KubeconfigError(`${exec.command} needs a terminal, and there is none`);
    }
    const info = {
      apiVersion: exec.apiVersion,
      kind: "ExecCredential",
      spec: { interactive, ...(exec.provideClusterInfo ? { cluster } : {}) },
    };
    const child = spawn(exec.command, [...exec.args], {
      env: {
        ...env,
        ...Object.fromEntries(exec.env.map(({ name, value }) => [name, value])),
        KUBERNETES_EXEC_INFO: JSON.stringify(info),
      },
      stdio: [interactive ? "inherit" : "ignore", "pipe", "inherit"],
    });
    return this.#collect(child, interactive);
  }

  #collect(child: ReturnType<typeof spawn>, interactive: boolean): Promise<string> {
    const { exec } = this.#options;
    return new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      let bytes = 0;
      const timer = interactive
        ? undefined
        : this.#clock.schedule(execTimeoutMs, () => {
            child.kill("SIGKILL");
            fail(`took longer than ${execTimeoutMs} ms`);
          });
      const fail = (what: string, cause?: unknown) => {
        timer?.cancel();
        const hint = exec.installHint === undefined ? "" : `\n${exec.installHint}`;
        reject(new KubeconfigError(`credential plugin ${exec.command} ${what}${hint}`, { cause }));
      };
      child.stdout?.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= execOutputBytesMax) return void chunks.push(chunk);
        child.kill("SIGKILL");
        fail(`printed more than ${execOutputBytesMax} bytes`);
      });
      child.on("error", (error) => fail(`could not be run: ${error.message}`, error));
      child.on("close", (code, signal) => {
        if (code !== 0) return fail(`ended with ${signal ?? `exit code ${code}`}`);
        timer?.cancel();
        resolve(Buffer.concat(chunks).toString("utf8"));
      });
    });
  }
}

function readCredential(text: string, apiVersion: string): Issued {
  const refuse = (what: string): never => {
    throw new KubeconfigError(`credential plugin printed ${what}`);
  };
  const { value } = parseJson(text);
  if (!isJsonObject(value) || value["kind"] !== "ExecCredential") {
    return refuse("something that is not an ExecCredential");
  }
  if (value["apiVersion"] !== apiVersion) {
    return refuse(`an ExecCredential of ${String(value["apiVersion"])}, not ${apiVersion}`);
  }
  const status = value["status"];
  if (!isJsonObject(status)) return refuse("no status");
  const { token, clientCertificateData: cert, clientKeyData: key, expirationTimestamp } = status;
  if ((cert === undefined) !== (key === undefined)) return refuse("half a certificate");
  if (token === undefined && cert === undefined) return refuse("neither a token nor a certificate");
  const expiresAt =
    typeof expirationTimestamp === "string" ? Date.parse(expirationTimestamp) : undefined;
  if (Number.isNaN(expiresAt)) return refuse("an expirationTimestamp that is no time");
  return {
    headers: typeof token === "string" ? bearer(token) : {},
    certificate: typeof cert === "string" && typeof key === "string" ? { cert, key } : undefined,
    expiresAtMs: expiresAt === undefined ? Number.POSITIVE_INFINITY : expiresAt - expiryMarginMs,
  };
}
