// Checks a synthesized template with cdk-nag's pack AwsSolutions. The resource's metadata may accept
// a finding with a reason. An accepted finding that does not occur is a fault too.
//
//   node infra/check-nag.mjs build/cdk.out/Whittle-example.template.json

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { App, Stack, Validations } from 'aws-cdk-lib';
import { CfnInclude } from 'aws-cdk-lib/cloudformation-include';
import { AwsSolutionsChecks } from 'cdk-nag';

/**
 * findings runs the pack. Each result has the resource's logical id, and the rule with its finding,
 * such as AwsSolutions-IAM5[Resource::*].
 */
export function findings(templateFile) {
  const outdir = mkdtempSync(join(tmpdir(), 'whittle-nag-'));
  const quiet = [console.error, process.exitCode];
  try {
    const app = new App({ outdir });
    new CfnInclude(new Stack(app, 'Checked'), 'Template', { templateFile });
    Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
    console.error = () => {}; // the report has the same findings
    try {
      app.synth();
    } catch (error) {
      if (error.name !== 'ValidationFailed') throw error;
    }
    const report = JSON.parse(readFileSync(join(outdir, 'validation-report.json'), 'utf8'));
    const violations = report.pluginReports.flatMap((plugin) => plugin.violations);
    return violations.flatMap((violation) => violation.violatingConstructs.map((construct) => ({
      logicalID: construct.constructPath.split('/').at(-1),
      rule: violation.ruleName,
      description: violation.description,
    })));
  } finally {
    [console.error, process.exitCode] = quiet;
    rmSync(outdir, { recursive: true, force: true });
  }
}

/** compare returns the faults, one line each: findings without a reason, and reasons without a finding. */
export function compare(template, found) {
  const known = new Map();
  for (const [logicalID, resource] of Object.entries(template.Resources)) {
    for (const { id, reason, applies_to: parts } of resource.Metadata?.cdk_nag?.rules_to_suppress ?? []) {
      if (!parts) known.set(`${logicalID} ${id}`, reason);
      for (const part of parts ?? []) known.set(`${logicalID} ${id}[${part}]`, reason);
    }
  }
  const faults = [];
  for (const { logicalID, rule, description } of found) {
    if (!known.get(`${logicalID} ${rule}`)) faults.push(`${logicalID}: ${rule}: ${description}`);
  }
  const there = new Set(found.map(({ logicalID, rule }) => `${logicalID} ${rule}`));
  for (const key of known.keys()) {
    if (!there.has(key)) faults.push(`${key}: accepted, but not found`);
  }
  return faults;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [path] = process.argv.slice(2);
  if (!path) {
    console.error('usage: node infra/check-nag.mjs TEMPLATE');
    process.exit(2);
  }
  const found = findings(path);
  const faults = compare(JSON.parse(readFileSync(path, 'utf8')), found);
  for (const fault of faults) console.error(fault);
  console.log(`${path}: AwsSolutions: ${found.length} findings, ${faults.length} faults`);
  process.exit(faults.length > 0 ? 1 : 0);
}
