/**
 * Browses the tree of workspaces on a terminal, and returns the chosen workspace.
 *
 *     keys ──► tree-state ──► tree-view ──► screen
 *                  ▲
 *     server ──────┘  the children of a workspace, listed when it is opened
 */
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import { KeyReader } from "./keys.ts";
import type { Terminal } from "./terminal.ts";
import {
  handleKey,
  initialState,
  type TreeState,
  toFirstFound,
  unknownNodes,
  type WorkspaceInfo,
  withChildren,
  withProblem,
} from "./tree-state.ts";
import { treeRows, viewOf } from "./tree-view.ts";

export interface BrowseOptions {
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** The current workspace, as `root:org`. */
  readonly current: string;
  /** Lists the children of a workspace. A rejection is shown beside the workspace. */
  readonly below: (path: string, signal: AbortSignal) => Promise<readonly WorkspaceInfo[]>;
}

/** After an escape character: characters within this time belong to the same key. */
const escapeMs = 50;
const asksAtOnce = 8;

/** The chosen path, or undefined. */
export function browse(options: BrowseOptions): Promise<string | undefined> {
  return new Browser(options).run();
}

class Browser {
  readonly #options: BrowseOptions;
  readonly #keys = new KeyReader();
  readonly #asking = new Set<string>();
  readonly #leaving = new AbortController();
  #state: TreeState;
  #top = 0;
  #escape: Timer | undefined;
  #end: (chosen: string | undefined) => void = () => {};

  constructor(options: BrowseOptions) {
    this.#options = options;
    this.#state = initialState(options.current);
  }

  async run(): Promise<string | undefined> {
    const { terminal } = this.#options;
    const ended = new Promise<string | undefined>((resolve) => {
      this.#end = resolve;
    });
    const close = terminal.open({
      onText: (text) => this.#heard(text),
      onResize: () => this.#draw(),
      onEnd: () => this.#end(undefined),
    });
    try {
      this.#ask();
      this.#draw();
      return await ended;
    } finally {
      this.#leaving.abort();
      this.#escape?.cancel();
      close();
    }
  }

  #heard(text: string): void {
    this.#escape?.cancel();
    this.#pressed(this.#keys.push(text));
    if (!this.#keys.isWaiting) return;
    this.#escape = this.#options.clock.schedule(escapeMs, () => this.#pressed(this.#keys.rest()));
  }

  #pressed(keys: ReturnType<KeyReader["push"]>): void {
    for (const key of keys) {
      if (this.#leaving.signal.aborted) return;
      const pressed = handleKey(this.#state, key, treeRows(this.#options.terminal.size));
      if (pressed.kind !== "stay") {
        this.#end(pressed.kind === "choose" ? pressed.path : undefined);
        return;
      }
      this.#state = pressed.state;
    }
    this.#ask();
    this.#draw();
  }

  #ask(): void {
    for (const path of unknownNodes(this.#state)) {
      if (this.#asking.size >= asksAtOnce) return;
      if (this.#asking.has(path)) continue;
      this.#asking.add(path);
      void this.#learn(path);
    }
  }

  async #learn(path: string): Promise<void> {
    const { signal } = this.#leaving;
    let next: (state: TreeState) => TreeState;
    try {
      const found = await this.#options.below(path, signal);
      next = (state) => withChildren(state, path, found);
    } catch (error) {
      const problem = error instanceof Error ? error.message : String(error);
      next = (state) => withProblem(state, path, problem);
    }
    this.#asking.delete(path);
    if (signal.aborted) return;
    const state = next(this.#state);
    this.#state = state.search === undefined ? state : toFirstFound(state);
    this.#ask();
    this.#draw();
  }

  #draw(): void {
    const { terminal } = this.#options;
    if (this.#leaving.signal.aborted) return;
    const { size, hasColors } = terminal;
    const isLoading = this.#asking.size > 0;
    const { lines, top } = viewOf(this.#state, { size, hasColors, isLoading, top: this.#top });
    this.#top = top;
    terminal.show(lines);
  }
}
