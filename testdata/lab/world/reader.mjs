// Reads the local AWS with the AWS SDK for JavaScript, launches and ends an
// instance, and prints what the answers said as one JSON object. AWS_ENDPOINT_URL
// is the local AWS.
//
//   node testdata/lab/world/reader.mjs CLUSTER

import { createRequire } from 'node:module';

// The packages of Node belong to the CDK app.
const AWS = createRequire(new URL('../../../infra/package.json', import.meta.url))('aws-sdk');

const cluster = process.argv[2];
// The world's EC2 refuses calls for their rate at times. The SDK repeats what it calls retryable, and
// an answer that it cannot read stays a failure.
AWS.config.update({ endpoint: process.env.AWS_ENDPOINT_URL, maxRetries: 10 });

const ec2 = new AWS.EC2();
const sqs = new AWS.SQS();

// pages calls an operation until an answer names no next page, and gives the items of all.
async function pages(service, operation, input, items) {
  const all = [];
  let NextToken;
  do {
    const page = await service[operation]({ ...input, NextToken }).promise();
    all.push(page[items]);
    NextToken = page.NextToken;
  } while (NextToken);
  return all;
}

async function instanceTypes() {
  const all = await pages(ec2, 'describeInstanceTypes', { MaxResults: 100 }, 'InstanceTypes');
  const large = all.flat().find((type) => type.InstanceType === 'm5.large');
  return {
    pages: all.length,
    names: all.flat().map((type) => type.InstanceType),
    large: { vcpus: large.VCpuInfo.DefaultVCpus, memoryMiB: large.MemoryInfo.SizeInMiB, architectures: large.ProcessorInfo.SupportedArchitectures },
  };
}

// unseen are the refusals of what was just made.
const unseen = ['InvalidInstanceID.NotFound', 'InvalidLaunchTemplateId.NotFound'];

// eventually asks until EC2 knows the answer: its calls are behind each other.
async function eventually(ask) {
  for (const end = Date.now() + 60_000; ;) {
    try {
      const answer = await ask();
      if (answer) return answer;
      if (Date.now() > end) throw new Error('no answer within a minute');
    } catch (error) {
      if (!unseen.includes(error.code) || Date.now() > end) throw error;
    }
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
}

async function launch() {
  const { Subnets: subnets } = await ec2.describeSubnets({ Filters: [{ Name: 'availability-zone', Values: ['us-east-1b'] }] }).promise();
  const { Images: images } = await ec2.describeImages({ Owners: ['amazon'], Filters: [{ Name: 'architecture', Values: ['x86_64'] }] }).promise();
  const { LaunchTemplate: template } = await ec2.createLaunchTemplate({
    LaunchTemplateName: 'reader',
    LaunchTemplateData: { ImageId: images[0].ImageId, UserData: Buffer.from('#!/bin/sh\n').toString('base64') },
  }).promise();
  const fleet = await eventually(() => ec2.createFleet({
    Type: 'instant',
    TargetCapacitySpecification: { TotalTargetCapacity: 1, DefaultTargetCapacityType: 'on-demand' },
    LaunchTemplateConfigs: [{
      LaunchTemplateSpecification: { LaunchTemplateId: template.LaunchTemplateId, Version: '$Latest' },
      Overrides: ['m5.xlarge', 'm5.large'].map((InstanceType) => ({ InstanceType, SubnetId: subnets[0].SubnetId })),
    }],
    TagSpecifications: [{ ResourceType: 'instance', Tags: [{ Key: 'purpose', Value: 'reading & <writing>' }] }],
  }).promise());
  const [instanceId] = fleet.Instances[0].InstanceIds;
  const instance = await eventually(async () => {
    const described = await ec2.describeInstances({ Filters: [{ Name: 'tag:purpose', Values: ['reading*'] }] }).promise();
    return described.Reservations[0]?.Instances[0];
  });
  const ended = await eventually(() => ec2.terminateInstances({ InstanceIds: [instanceId] }).promise());
  await eventually(() => ec2.deleteLaunchTemplate({ LaunchTemplateId: template.LaunchTemplateId }).promise());
  return {
    subnets: subnets.map((subnet) => ({ id: subnet.SubnetId, zone: subnet.AvailabilityZone, cidr: subnet.CidrBlock })),
    asked: { image: images[0].ImageId, templateVersion: template.LatestVersionNumber, instanceId },
    got: {
      instanceId: instance.InstanceId, type: instance.InstanceType, image: instance.ImageId, subnet: instance.SubnetId,
      purpose: instance.Tags.find((tag) => tag.Key === 'purpose').Value, launched: instance.LaunchTime instanceof Date,
    },
    ended: ended.TerminatingInstances.map((change) => ({ id: change.InstanceId, state: change.CurrentState.Name })),
  };
}

// message goes through a queue that nothing else takes from.
async function message() {
  const { QueueUrl: made } = await sqs.createQueue({ QueueName: 'reader' }).promise();
  const { QueueUrl } = await sqs.getQueueUrl({ QueueName: 'reader' }).promise();
  if (made !== QueueUrl) throw new Error(`the queue is ${made}, and then ${QueueUrl}`);
  const sent = await sqs.sendMessage({ QueueUrl, MessageBody: 'one & <two>' }).promise();
  const { Messages } = await sqs.receiveMessage({ QueueUrl, WaitTimeSeconds: 5, AttributeNames: ['All'] }).promise();
  await sqs.deleteMessage({ QueueUrl, ReceiptHandle: Messages[0].ReceiptHandle }).promise();
  return { sent: sent.MessageId, received: Messages.map((m) => ({ id: m.MessageId, body: m.Body, count: m.Attributes.ApproximateReceiveCount })) };
}

async function price() {
  const match = (Field, Value) => ({ Type: 'TERM_MATCH', Field, Value });
  const { PriceList } = await new AWS.Pricing().getProducts({
    ServiceCode: 'AmazonEC2',
    Filters: [match('instanceType', 'm5.large'), match('regionCode', 'us-east-1'), match('operatingSystem', 'Linux'), match('tenancy', 'Shared')],
  }).promise();
  return PriceList.map((product) => {
    const [term] = Object.values(product.terms.OnDemand);
    const [dimension] = Object.values(term.priceDimensions);
    return Number(dimension.pricePerUnit.USD);
  });
}

const described = await new AWS.EKS().describeCluster({ name: cluster }).promise();
const logs = new AWS.CloudWatchLogs();

console.log(JSON.stringify({
  caller: await new AWS.STS().getCallerIdentity().promise(),
  instanceTypes: await instanceTypes(),
  launch: await launch(),
  message: await message(),
  cluster: { endpoint: described.cluster.endpoint, version: described.cluster.version, authority: described.cluster.certificateAuthority.data, status: described.cluster.status },
  price: await price(),
  looks: (await logs.filterLogEvents({ logGroupName: `/aws/lambda/whittle-${cluster}-lifecycle` }).promise()).events
    .filter((event) => event.message.includes('"counted nodes"')).map((event) => JSON.parse(event.message)),
}));
