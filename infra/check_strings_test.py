"""Tests that check-strings.py finds each kind of string that AWS refuses."""

import importlib
import unittest

checker = importlib.import_module('check-strings')


class Strings(unittest.TestCase):
    """Each test is a resource with one fault, beside the same without it."""

    def check(self, fault, kind, **properties):
        found = checker.faults({'Resources': {'One': {'Type': kind, 'Properties': properties}}})
        self.assertEqual(len(found), 1 if fault else 0, found)
        if fault:
            self.assertIn(fault, found[0])

    def test_documents(self):
        rule = 'AWS::EC2::SecurityGroupIngress'
        self.check('', rule, Description='Functions reach the API server of prod')
        self.check("which does not match", rule, Description="Whittle's functions reach the API server of prod")
        self.check('does not match', rule, Description='a' * 256)
        self.check('does not match', 'AWS::SQS::Queue', QueueName='whittle.prod')
        self.check('does not match', 'AWS::EKS::AccessEntry', Username='system:node')

    def test_models(self):
        self.check('', 'AWS::IAM::Role', Description='Nodes of Linux', RoleName='whittle-prod')
        self.check('One.RoleName has 65 characters, 1 to 64', 'AWS::IAM::Role', RoleName='r' * 65)
        self.check('does not match', 'AWS::IAM::Role', Description='a “quoted” word')
        self.check('One.Description has 257', 'AWS::Lambda::Function', Description='d' * 257)
        self.check('One.AlarmName has 256', 'AWS::CloudWatch::Alarm', AlarmName='a' * 256)
        self.check('One.Name', 'AWS::Events::Rule', Name='a rule')

    def test_values_of_the_deployment(self):
        self.check('', 'AWS::Lambda::Function', Role={'Fn::GetAtt': ['Elsewhere', 'Arn']})
        self.check('', 'AWS::IAM::Role', RoleName={'Fn::Sub': 'whittle-${AWS::Region}'})
        self.check('One.RoleName', 'AWS::IAM::Role', RoleName={'Fn::Sub': 'whittle ${AWS::Region}'})

    def test_tags(self):
        self.check('', 'AWS::SQS::Queue', Tags=[{'Key': 'team', 'Value': 'a b+c'}])
        self.check("tag 'aws:x'", 'AWS::SQS::Queue', Tags=[{'Key': 'aws:x', 'Value': ''}])
        self.check("tag 'team'", 'AWS::SQS::Queue', Tags=[{'Key': 'team', 'Value': 'a&b;c'}])

    def test_unknown_types(self):
        self.check('add it to CALLS', 'AWS::S3::Bucket')
        self.check('', 'Custom::WhittleInstall', Anything='?')


if __name__ == '__main__':
    unittest.main()
