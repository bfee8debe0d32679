/** The storage flags; shared by start, backup and restore. */
import type { StorageOptions } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";

export interface StorageFlags {
  readonly storage?: "memory" | "embedded" | "etcd";
  readonly etcdServers?: string;
  readonly etcdPrefix?: string;
  readonly etcdCafile?: string;
  readonly etcdCertfile?: string;
  readonly etcdKeyfile?: string;
  readonly etcdUsername?: string;
  readonly etcdPassword?: string;
}

export function addStorageFlags(command: Command): Command {
  return command
    .optionsGroup("Storage flags:")
    .addOption(
      new Option("--storage <kind>", "the storage backend: embedded stores in <root>/data").choices(
        ["embedded", "memory", "etcd"],
      ),
    )
    .option("--etcd-servers <urls>", "comma-separated etcd endpoints; implies --storage etcd")
    .option("--etcd-prefix <path>", "prefix of all keys in etcd (default: /kcp)")
    .option("--etcd-cafile <path>", "certificate authority file used to secure etcd communication")
    .option("--etcd-certfile <path>", "client certificate file used to secure etcd communication")
    .option("--etcd-keyfile <path>", "its private key")
    .option("--etcd-username <name>", "user name for etcd")
    .addOption(
      new Option("--etcd-password <password>", "password for etcd").env("KCP_ETCD_PASSWORD"),
    );
}

export function storageOptionsOf(flags: StorageFlags): StorageOptions {
  const kind = flags.storage ?? (flags.etcdServers === undefined ? "embedded" : "etcd");
  if (kind !== "etcd") return { kind };
  return {
    kind,
    servers: (flags.etcdServers ?? "").split(",").filter((server) => server !== ""),
    prefix: flags.etcdPrefix,
    caFile: flags.etcdCafile,
    certFile: flags.etcdCertfile,
    keyFile: flags.etcdKeyfile,
    username: flags.etcdUsername,
    password: flags.etcdPassword,
  };
}
