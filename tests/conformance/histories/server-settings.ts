import type { SeededBug } from "./seeded-bug-storage.ts";

export type StorageSettings =
  | { readonly kind: "memory" }
  | { readonly kind: "embedded"; readonly directory: string }
  | { readonly kind: "etcd"; readonly endpoints: readonly string[] };

/** The first argument of the server program, as JSON. */
export interface ServerSettings {
  readonly port: number;
  readonly storage: StorageSettings;
  /** Bugs can be planted in this server, for tests of the tests. */
  readonly allowsSeededBugs: boolean;
}

/** What the server program is told. */
export type ServerCommand =
  | { readonly kind: "compact" }
  | { readonly kind: "plant"; readonly seededBug: SeededBug | undefined }
  | { readonly kind: "jump"; readonly byMs: number }
  /** Each write to the disk takes this much longer; the embedded store's only. */
  | { readonly kind: "slowDisk"; readonly delayMs: number };

/** What it says. */
export type ServerReport =
  | { readonly kind: "ready"; readonly caPem: string; readonly token: string }
  | { readonly kind: "done"; readonly error?: string | undefined };
