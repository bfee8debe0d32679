/**
 * A server of a stage as its parent sees it: a process that can be killed, stopped and told things,
 * behind a proxy that can lose connections.
 */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { FaultProxy, freePorts } from "@kcp-ts/testkit";
import type { ServerCommand, ServerReport, ServerSettings } from "./server-settings.ts";

const program = fileURLToPath(new URL("./server-program.js", import.meta.url));

export class ServerProcess {
  readonly name: string;
  readonly proxy: FaultProxy;
  readonly #settings: ServerSettings;
  #child: ChildProcess | undefined;
  #log = "";
  /** What it said last when it ended by itself; nobody asked it to. */
  crash: string | undefined;
  caPem = "";
  token = "";

  private constructor(name: string, proxy: FaultProxy, settings: ServerSettings) {
    this.name = name;
    this.proxy = proxy;
    this.#settings = settings;
  }

  static async start(name: string, settings: Omit<ServerSettings, "port">): Promise<ServerProcess> {
    const [port = 0] = await freePorts(1);
    const proxy = await FaultProxy.start({ host: "127.0.0.1", port });
    const server = new ServerProcess(name, proxy, { ...settings, port });
    await server.start();
    return server;
  }

  /**
   * On its old port and its old data; comes again until it is ready, since its store may be in the
   * middle of a fault.
   */
  async start(): Promise<void> {
    for (let attempt = 1; !(await this.#launch()); attempt++) {
      if (attempt === startsMax) throw new Error(`${this.name} does not start: ${this.#log}`);
      await sleep(systemClock, 100);
    }
  }

  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Resolves when it has been done; what it failed with is the fault's own business. */
  async sendCommand(command: ServerCommand): Promise<string | undefined> {
    const child = this.#child;
    if (child === undefined || !child.connected) return "the server is away";
    child.send(command);
    const done = await nextReport(child, "done");
    return done?.kind === "done" ? done.error : "the server went away";
  }

  async close(): Promise<void> {
    await this.kill();
    await this.proxy.dispose();
  }

  async #launch(): Promise<boolean> {
    const child = fork(program, [JSON.stringify(this.#settings)], {
      stdio: ["ignore", "ignore", "pipe", "ipc"],
    });
    this.#child = child;
    this.#log = "";
    child.stderr?.on("data", (bytes: Buffer) => {
      this.#log = (this.#log + bytes.toString()).slice(-4000);
    });
    const onExit = () => child.kill("SIGKILL");
    process.once("exit", onExit);
    child.once("close", () => process.removeListener("exit", onExit));
    const ready = await nextReport(child, "ready");
    if (ready?.kind !== "ready") return false;
    child.once("close", (code, signal) => {
      if (this.#child === child)
        this.crash = `${this.name} ended with ${code ?? signal}: ${this.#log}`;
    });
    this.caPem = ready.caPem;
    this.token = ready.token;
    return true;
  }
}

/** Undefined when the process ended without it. */
function nextReport(
  child: ChildProcess,
  kind: ServerReport["kind"],
): Promise<ServerReport | undefined> {
  return new Promise((resolve) => {
    const onMessage = (message: ServerReport) => {
      if (message.kind === kind) end(message);
    };
    const onClose = () => end(undefined);
    const end = (report: ServerReport | undefined) => {
      child.off("message", onMessage);
      child.off("close", onClose);
      resolve(report);
    };
    child.on("message", onMessage);
    child.on("close", onClose);
  });
}

const startsMax = 20;
