/** A kubeconfig for one user in one logical cluster. JSON is valid YAML. */
export interface TestKubeconfig {
  /** `https://host:port`, without a path. */
  readonly url: string;
  readonly caPem: string;
  readonly cluster: string;
  readonly username: string;
  readonly token: string;
}

export function formatTestKubeconfig(options: TestKubeconfig): string {
  const { url, caPem, cluster, username, token } = options;
  const ca = Buffer.from(caPem, "utf8").toString("base64");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": cluster,
    clusters: [
      {
        name: cluster,
        cluster: { server: `${url}/clusters/${cluster}`, "certificate-authority-data": ca },
      },
    ],
    contexts: [{ name: cluster, context: { cluster, user: username } }],
    users: [{ name: username, user: { token } }],
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
