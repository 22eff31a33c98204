// node --test infra/check-template.test.mjs

import assert from 'node:assert/strict';
import test from 'node:test';
import { loadAwsServiceSpecSync } from '@aws-cdk/aws-service-spec';
import { check } from './check-template.mjs';

const db = loadAwsServiceSpecSync();

const schedule = {
  ScheduleExpression: 'rate(1 minute)',
  FlexibleTimeWindow: { Mode: 'OFF' },
  Target: { Arn: { 'Fn::Sub': 'arn:${AWS::Partition}:lambda:x' }, RoleArn: { 'Fn::GetAtt': ['Role', 'Arn'] } },
};
const role = { Type: 'AWS::IAM::Role', Properties: { AssumeRolePolicyDocument: {} } };

const cases = [
  [
    'a sound template',
    { Role: role, A: { Type: 'AWS::Scheduler::Schedule', Properties: schedule, DependsOn: 'Role' } },
    [],
  ],
  ['an unknown type', { A: { Type: 'AWS::SQS::Kew' } }, [/AWS::SQS::Kew is not a resource type/]],
  ['an unknown property', { A: { Type: 'AWS::SQS::Queue', Properties: { Name: 'a' } } }, [/Name is not a property/]],
  [
    'a missing property',
    { A: { Type: 'AWS::SQS::QueuePolicy', Properties: { Queues: [] } } },
    [/PolicyDocument is missing/],
  ],
  [
    'a missing property inside',
    { Role: role, A: { Type: 'AWS::Scheduler::Schedule', Properties: { ...schedule, FlexibleTimeWindow: {} } } },
    [/FlexibleTimeWindow: Mode is missing/],
  ],
  [
    'a string for a number',
    { A: { Type: 'AWS::SQS::Queue', Properties: { VisibilityTimeout: '60' } } },
    [/VisibilityTimeout is "60", not a number/],
  ],
  [
    'a value that is not allowed',
    { A: { Type: 'AWS::Events::Rule', Properties: { State: 'ON' } } },
    [/State is "ON", not one of/],
  ],
  [
    'a reference to nothing',
    { A: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { Ref: 'B' } } } },
    [/refers to B/],
  ],
  [
    'a substitution of nothing',
    { A: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::Sub': 'a-${B}' } } } },
    [/refers to B/],
  ],
  [
    'an attribute that the type does not have',
    { Role: role, A: { Type: 'AWS::SQS::Queue', Properties: { QueueName: { 'Fn::GetAtt': ['Role', 'Name'] } } } },
    [/AWS::IAM::Role has no attribute Name/],
  ],
  ['a dependency on nothing', { A: { Type: 'AWS::SQS::Queue', DependsOn: ['B'] } }, [/DependsOn names B/]],
];

for (const [name, Resources, want] of cases) {
  test(name, () => {
    const got = check({ Resources }, db);
    assert.equal(got.length, want.length, got.join('\n'));
    want.forEach((pattern, i) => assert.match(got[i], pattern));
  });
}
