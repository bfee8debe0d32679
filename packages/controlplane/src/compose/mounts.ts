/** Creates the connections to mounted workspaces from options. */
import { parseMountHosts, type TenancyExtensionOptions } from "@kcp-ts/tenancy";
import { type ControlPlaneOptions, OptionsError } from "../options.ts";
import { readFlagFile } from "./start-up.ts";

type MountFiles = Pick<
  ControlPlaneOptions,
  "mountProxyClientCertFile" | "mountProxyClientKeyFile" | "mountProxyCaFile" | "mountAllowedHosts"
>;

export async function loadMounts(
  options: MountFiles,
): Promise<NonNullable<TenancyExtensionOptions["mounts"]>> {
  const { mountProxyClientCertFile: certFile, mountProxyClientKeyFile: keyFile } = options;
  const { mountProxyCaFile: caFile } = options;
  if ((certFile === undefined) !== (keyFile === undefined))
    throw new OptionsError(
      "--mount-proxy-client-cert-file and --mount-proxy-client-key-file go together: give both",
    );
  const { mountAllowedHosts: allowedHosts = [] } = options;
  try {
    parseMountHosts(allowedHosts);
  } catch (error) {
    throw new OptionsError(`--mount-allowed-hosts: ${(error as Error).message}`);
  }
  const read = (flag: string, path: string | undefined) =>
    path === undefined ? undefined : readFlagFile(flag, path);
  return {
    allowedHosts,
    certificatePem: await read("--mount-proxy-client-cert-file", certFile),
    privateKeyPem: await read("--mount-proxy-client-key-file", keyFile),
    caPem: await read("--mount-proxy-ca-file", caFile),
  };
}
