#!/usr/bin/env node
import { programs } from "./bundle.mjs";

await programs.kcpPluginMain(process.argv);
